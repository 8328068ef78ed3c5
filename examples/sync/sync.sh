#!/bin/sh
# Brings a file up to date with the service's results, with curl and jq. Run it once a minute; without the file it starts
# from the beginning.
#   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… sh sync.sh results.json
set -eu
umask 077 # Results are about people.
file=${1:-results.json}
[ -f "$file" ] || echo '{"since": "", "etag": "\"\"", "results": {}}' > "$file"
since=$(jq -r .since "$file") etag=$(jq -r .etag "$file")
new=$(mktemp) page=$(mktemp) headers=$(mktemp)
trap 'rm -f "$new" "$new.next" "$page" "$headers"' EXIT
trap 'exit 1' HUP INT TERM
header() { sed -n "s/^$1: //Ip" "$headers" | tr -d '\r'; }

cp "$file" "$new"
url="$API/assessments?limit=500${since:+&since=$since}" walked=no restores=0
while [ "$url" != null ]; do
  status=$(curl -sS -D "$headers" -o "$page" -w '%{http_code}' -H "If-None-Match: $etag" \
    -H "X-Access-Key-Id: $ACCESS_KEY_ID" -H "X-Secret-Access-Key: $SECRET_ACCESS_KEY" "$url")
  latest=$(printf '%s\n' "$(header x-sync-restored)" "$since" | LC_ALL=C sort | tail -n 1)
  through=$(header x-sync-through)
  earliest=$(printf '%s\n' "${through:-$since}" "$since" | LC_ALL=C sort | head -n 1)
  if [ -n "$since" ] && { [ "$latest" != "$since" ] || [ "$earliest" != "$since" ]; } ||
    { [ "$status" = 400 ] && grep -q '"invalid_cursor"' "$page"; }; then
    # The service was restored from a backup: start again without since. What the new walk does not show is gone.
    restores=$((restores + 1))
    if [ $restores -gt 3 ]; then echo 'The service was restored again and again. Try again later.' >&2; exit 1; fi
    echo '{"results": {}}' > "$new"
    since='' etag='""' walked=no url="$API/assessments?limit=500"
    continue
  fi
  if [ "$status" = 304 ]; then echo 'nothing has changed'; exit; fi
  if [ "$status" != 200 ]; then cat "$page" >&2; exit 1; fi
  if [ $walked = no ]; then walked=yes since=$through tag=$(header etag) etag='""'; fi
  jq -cs 'reduce .[1].data[] as $record (.[0];
    if $record.status == "completed" then .results[$record.assessment_id] = $record
    else del(.results[$record.assessment_id]) end)' "$new" "$page" > "$new.next"
  mv "$new.next" "$new"
  url=$(jq -r .pagination.next "$page")
done
jq -c --arg since "$since" --arg etag "$tag" '.since = $since | .etag = $etag' "$new" > "$file.new"
mv "$file.new" "$file"
jq -r '"\(.results | length) results, in step through \(.since)"' "$file"
