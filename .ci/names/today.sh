#!/bin/bash
# today.sh CHECKOUT : lines with the "today" words of language.md's table, in the sense of that table as far as a pattern can tell.
# What it does not ask about: CHANGELOG and licenses (history), xtask/mixed (built against older commits), Redis keys, SQL columns, stored
# JSON fields and script file names (compatibility), test data (aliases, users), and the everyday senses of spread, keep, land, stand.
cd "${1:-.}" || exit 1
EX=(':!.ci/names' ':!CHANGELOG.md' ':!LICENSE*' ':!xtask/mixed' ':!apps/shortlink/data' ':!*.css' ':!.config' ':!Cargo.lock' ':!*mutants-killed-at.txt')
ask() { echo "== $1"; shift; git grep -nIE "$1" -- "${EX[@]}" | { [ -n "$2" ] && grep -vE "$2" || cat; } | cut -c1-200; }
ask "heartbeat"   '(\b|_)[Bb]eats?(\b|_)|\bBEAT\b|\bBeat\b' 'beat-1|heart beats'
ask "notification" '\bnews\b|\b[Hh]eard\b|\bhears?\b|_heard|heard_|is told|are told|\bTold\b|\btold\b|\bTell\b|\btells\b|_tells?(\b|_)' ':news|-news|/news|"news"|`news`|link_conflicts|told TEXT|tells the two apart|# told|tell users|guard\(."told|\(told\)|SELECT id, told'
ask "completion record" '\b[Ss]tamps?\b|\bSTAMP|_stamp\b|\bstamp_|Stamp\b' 'Timestamp|[^a-z]timestamp|CURRENT_TIMESTAMP'
ask "pending effect" '[Oo]bligation|\bow(e|es|ed|ing)\b|_owed|Owed\b|\bowed_' ''
ask "shard migration" '\b[Pp]arcels?\b|PARCEL|\badopt|ADOPT|adopted|\bgave\b|\btook\b' "took (longer|effect)|gave up|neighbors.rs|\`?gave:|\`?took:|adopt-1"
ask "lease expiry" '[Ll]apse|LAPSE' '[Ee]lapse|ELAPSE'
ask "source of truth" '[Jj]udge|JUDGE' 'misjudge'
ask "mark dead" '\bbur(y|ies|ied)\b|_bur(y|ies|ied)|bury_|buried|BURIED|burying' ''
ask "join, spawn, complete" '\bboard(s|ed)?\b|_board\b|take_off|takes off|\b[Ll]anded\b|_landed\b|LANDED' 'clipboard|is landed'
ask "listener" '\bears?\b' ''
ask "next to" '\b[Bb]esides?\b|_beside\b' ''
ask "people" '\b(nobody|somebody|whoever|anybody|NOBODY)\b|_nobody|_NOBODY|NOBODY_' '"nobody"|/nobody|nobody:wrong|somebody@'
ask "jitter" '\.spread\(|\bspread of (0|NaN|\{)' 'bench/'
ask "timeout" '[Pp]atien(t|ce)|PATIENCE' ''
ask "retention" '\b[Rr]emember|REMEMBER|remembered|\bKeep::|\bkeep_ms\b|KEEP_MS|keep_until' "evenkeel_jobs|keep_ms (BIGINT|INTEGER)|remembered_until_ms|Next::Keep|docs/spec/queue.md"
ask "read policy, requested" '\b[Ww]ant(s|ed)?\b|\bWANTED|UNWANTED|unwanted|settles_for|takes_spent' 'Help\+Wanted|"wanted"|you (still )?want|you want to'
ask "backlogged" '\bhungry\b|\bhunger' ''
ask "in the local cache" '\bat hand\b' ''
ask "replay" 'invalidations_redriven|redrive of (an )?invalidation|\b_redrive\b' ''
ask "unit of work" '\ba work\b' ''
ask "error classification" '\bailment|\bails\b' ''
ask "world" '\bWorlds?\b|\bworld\b' ''
