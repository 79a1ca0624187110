// A page of a folder may not fetch the others, from which search shows an excerpt beside each title.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
