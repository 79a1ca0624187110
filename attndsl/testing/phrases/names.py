"""What the names in templates stand for."""

from __future__ import annotations

QUERIES = """
q            {real}[B, H, M, D]
q_heads      {real}[B, M, H, D]
q_packed     {real}[L, H, D]
q_side       {real}[B, M, H, D + 3]
q_last       {real}[B, H, D]
q_grid       {real}[B, H, Y, X, D]
q_flat       {real}[M, D]
q_ways       {real}[B, M, ways * D, H]
"""
"""What rows read, of the width D."""

INPUTS = """
count        {int}[B] {twos}
length       {int}[B] {twos}
cu           {int}[B + 1]
ck           {int}[B + 1]
table        {int}[B, P]
order        {int}[B, N]
head_of      {int}[H]
top          {int}[B, M, K]
top_shared   {int}[B, K]
word         {int}[B, H]
words        {real}[W, E]
label        {label}[B, N]
valid        bool[B, N] {trues}
tree         bool[M, N]
blocks       bool[P, P]
chosen       bool[H]
bias         {real}[H, M, N] {zeros}
bias_shared  {real}[M, N] {zeros}
bias_step    {real}[8, H]
step         {int}[W]
slope        {real}[H] {ones}
temper       {real}[] {ones}
temper_f8    {f8}[]
salt         {int}[]
salt_small   {label}[]
lit          bool[]
sinks        {real}[H] {lowest}
wave         {real}[H, R, 2]
turn         {real}[M, D]
shift        {real}[M, D]
fan          {real}[ways * F]
late         {real}[B, H, R]
late_key     {real}[B, N, R]
code         i8[H, D]
form         {real}[D, D]
mix          {real}[E, D]
"""

LETS = """
m            m[b] = cu[b + 1] - cu[b]
n            n[b] = ck[b + 1] - ck[b]
part         part[t] = t / p
chunk        chunk[t] = (if t < p then t else t - p) / 2
i@last       i = {last}
i@grid       i = y * X + x
b@flat       b = 0
h@flat       h = 0
j@gathered   j = {gathered}
j@pair       j = t * 3 + u
at           at = {place}
group        group = {head}
row          row = {query}
row_half     row_half[d in D] = if d < D / 2 then -row[d + D / 2] else row[d - D / 2]
col          col = {key}
score        score = {scoring}
mask         mask = {mask}
leading      leading = topk(score, mask, 3)
"""

PARAMETERS = """
p     {number_parameter}
w     {f32_parameter}
flag  {bool_parameter}
seed  {seed_parameter}
ways  {ways_parameter}
"""
