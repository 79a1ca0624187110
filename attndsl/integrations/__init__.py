"""What makes attndsl's operators the attention of other libraries, which are imported when somebody asks for it."""
