#!/usr/bin/env python3
"""Brings names and prose of a checkout to the field's language.

    python3 rename.py CHECKOUT

Idempotent: a second run changes nothing. Works on the files that git knows (also new ones that are not ignored).
CHANGELOG.md (history), licenses, xtask/mixed (compiled against older commits) and mutants-killed-at.txt are left alone.
"""
import re, subprocess, sys, os
from fnmatch import fnmatch

SKIP = [".ci/names/*", "CHANGELOG.md", "LICENSE*", "xtask/mixed/*", "*mutants-killed-at.txt", "apps/shortlink/data/*", "Cargo.lock", "*/Cargo.lock"]
EXT = (".rs", ".lua", ".md", ".toml", ".sql", ".snap", ".out", ".py", ".txt")

# ---------------------------------------------------------------- rules
# (old, new, paths): identifiers. In Rust: code, `..` and [..] in comments, fences in comments, {..} captures in strings.
# In Lua: code and comments. In Markdown and api listings: `..` spans, fences. The first rule that fits a path wins.
IDENTS, EXACT, RAW, TEXT, FILES = [], [], [], [], []


def ident(old, new, *paths):
    IDENTS.append((old, new, paths or ("*",)))


def exact(old, new, *paths):
    """A word that occurs in one sense only: replaced everywhere (code, comments, strings, documents)."""
    EXACT.append((re.compile(r"(?<![\w])" + re.escape(old) + r"(?![\w]|-\d)"), new, paths or ("*",)))


def raw(pattern, new, *paths):
    """A regular expression over the whole text of a file."""
    RAW.append((re.compile(pattern, re.M), new, paths or ("*",)))


def text(pattern, new, *paths):
    """A regular expression over comments, strings and documents."""
    TEXT.append((re.compile(pattern), new, paths or ("*",)))


def move(old, new):
    FILES.append((old, new))


exec(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.py")).read())

BY_OLD = {}
for old, new, paths in IDENTS:
    BY_OLD.setdefault(old, []).append((new, paths))
IDENT = re.compile(r"(?<![\w])(" + "|".join(sorted(map(re.escape, BY_OLD), key=len, reverse=True)) + r")(?![\w]|-\d)")


def fits(path, paths):
    """`!p` excludes; `~regex` asks for content."""
    ok = None
    for p in paths:
        if p.startswith("!"):
            if fnmatch(path, p[1:]):
                return False
            if ok is None:
                ok = all(q.startswith("!") for q in paths)
        elif p.startswith("~"):
            ok = ok or bool(re.search(p[1:], CONTENT))
        else:
            ok = ok or fnmatch(path, p)
    return bool(ok)


CACHE = {}


def new_name(path, old):
    key = (path, old)
    if key not in CACHE:
        CACHE[key] = next((new for new, paths in BY_OLD[old] if fits(path, paths)), old)
    return CACHE[key]


def idents(path, s):
    return IDENT.sub(lambda m: new_name(path, m.group(1)), s)


RUST = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<str>b?c?"(?:\\.|[^"\\])*"|b?r(?P<h>\#*)".*?"(?P=h))|(?P<char>b?'(?:\\[^\n']+|[^\\'\n])')""",
    re.S | re.X,
)
LUA = re.compile(r"""(?P<line>--[^\n]*)|(?P<str>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")""", re.S)
SPAN = re.compile(r"`[^`\n]+`|\[[^\]\n`]+\](?=[(\[])|\]\((?:Self::|super::|crate::)[^)\n]*\)")
CAPTURE = re.compile(r"(?<!\{)\{([a-z_]\w*)(?=[:}.])")


def span(path, m):
    s = m.group(0)
    # names of files and folders stay
    if re.search(r"\.(rs|lua|md|toml|sql)\b|-\d", s):
        return s
    return idents(path, s)


def phrases(path, s):
    for pattern, new, paths in TEXT:
        if fits(path, paths):
            s = pattern.sub(new, s)
    return s


def captures(path, s):
    def one(m):
        return "{" + (new_name(path, m.group(1)) if m.group(1) in BY_OLD else m.group(1))
    return CAPTURE.sub(one, s)


def rust(path, s):
    out, at, fence = [], 0, False
    for m in RUST.finditer(s):
        if m.start() < at:
            continue
        code = s[at:m.start()]
        if code.strip():
            fence = False
        out.append(idents(path, code))
        part = m.group(0)
        if m.group("line"):
            body = re.sub(r"^//[/!]?\s?", "", part)
            if body.startswith("```"):
                fence = not fence
            elif fence:
                part = idents(path, part)
            else:
                part = phrases(path, SPAN.sub(lambda k: span(path, k), part))
        elif m.group("str"):
            part = phrases(path, captures(path, part))
        elif m.group("block"):
            part = phrases(path, part)
        out.append(part)
        at = m.end()
    out.append(idents(path, s[at:]))
    return "".join(out)


def lua(path, s):
    out, at = [], 0
    for m in LUA.finditer(s):
        out.append(idents(path, s[at:m.start()]))
        part = m.group(0)
        out.append(part if m.group("str") else phrases(path, idents(path, part)))
        at = m.end()
    out.append(idents(path, s[at:]))
    return "".join(out)


def markdown(path, s):
    out, fence = [], False
    for line in s.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif fence and "mermaid" not in line:
            line = phrases(path, idents(path, line))
        else:
            line = phrases(path, SPAN.sub(lambda k: span(path, k), line))
        out.append(line)
    return "".join(out)


def convert(path, s):
    global CONTENT
    CONTENT = s
    CACHE.clear()
    for pattern, new, paths in RAW:
        if fits(path, paths):
            s = pattern.sub(new, s)
    if path.endswith(".rs"):
        s = rust(path, s)
    elif path.endswith(".lua"):
        s = lua(path, s)
    elif path.startswith("docs/api/"):
        s = idents(path, s)
    elif path.endswith(".md"):
        s = markdown(path, s)
    elif path.endswith((".toml", ".sql", ".py", ".snap", ".out")):
        s = phrases(path, s)
    for pattern, new, paths in EXACT:
        if fits(path, paths):
            s = pattern.sub(new, s)
    return s


def git(*args):
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True, text=True).stdout


ROOT = sys.argv[1]
for old, new in FILES:
    if os.path.exists(os.path.join(ROOT, old)) and not os.path.exists(os.path.join(ROOT, new)):
        os.makedirs(os.path.dirname(os.path.join(ROOT, new)), exist_ok=True)
        git("mv", old, new)
changed = 0
for path in sorted(set(git("ls-files", "-co", "--exclude-standard").splitlines())):
    full = os.path.join(ROOT, path)
    if not path.endswith(EXT) or any(fnmatch(path, p) for p in SKIP) or not os.path.isfile(full) or os.path.islink(full):
        continue
    before = open(full, encoding="utf-8", newline="").read()
    after = convert(path, before)
    if after != before:
        open(full, "w", encoding="utf-8", newline="").write(after)
        changed += 1
print(f"{changed} files changed")
