#!/bin/sh
# A worker on a machine without oddarm: plain HTTP, with curl and the usual tools alone.
#   sh http_worker.sh http://127.0.0.1:8321 latency     # a token goes into ODDARM_TOKEN
set -eu
study="$1/studies/$2"

random() { od -An -N2 -tu2 /dev/urandom | tr -d ' '; } # Print a number from 0 to 65535.

probe() { # Print a reward of an arm: measure something of your own here.
    if [ "$(random)" -lt "$([ "$1" = gru ] && echo 59000 || echo 6500)" ]; then echo 1; else echo 0; fi
}

post() { # Print the answer; try again while the service is away or busy. A tell counts only once.
    while :; do
        answer=$(curl -sS --fail-with-body --retry 9 --max-time 60 -H 'Content-Type: application/json' \
            -H "@-" -d "$2" "$study/$1" <<EOF
Authorization: Bearer ${ODDARM_TOKEN-}
EOF
        ) && printf '%s' "$answer" && return 0
        [ $? -ne 22 ] || return 1                # refused for good
        sleep $((1 + $(random) % 15))            # workers must not return as one
    done
}

while asked=$(post ask '{"limit": 10, "wait_seconds": 20}'); do
    case $asked in *'"status":"done"}') exit 0 ;; *'"pulls":[]'*) sleep $((1 + $(random) % 3)) ;; esac
    # A line for each pull: its id and its arm. Names with quotes or escapes need a reader of JSON.
    tells=$(printf '%s' "$asked" | grep -o '"id":"[^"]*","arm":[^,}]*' | sed 's/"id":"//; s/","arm":/ /; s/"//g' |
        while read -r id arm; do printf '{"pull": "%s", "reward": %s},' "$id" "$(probe "$arm")"; done)
    post tell "{\"tells\": [${tells%,}]}" >/dev/null
done
exit 1
