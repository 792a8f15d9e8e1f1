#!/usr/bin/env bash
# soak.sh FOLDER [ROWS [WORKERS]]: answers ROWS rows (default 1,000,000,000) of all sets in both precisions with the
# queries distance, penetration and collide, with fresh seeds, and audits every answer. It stops at the first file
# FOLDER/stop, and goes on where it stopped when it is called again. FOLDER/done has a line for each part: rows, query,
# precision, seed, good or bad; FOLDER/bad the report of each part with a refuted or undecided row.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:?folder} rows=${2:-1000000000} workers=${3:-0}
part=${PART:-3000000} # rows of a part
sets=${SETS:-mixed,adversarial,capsule-cylinder-cone,hull32,boxes,ellipsoids,hull8}
mkdir -p "$folder"
touch "$folder/done"
if [ ! -x "$folder/batchbench" ]; then go build -o "$folder/batchbench" ./cmd/batchbench; fi

queries=(distance penetration collide) precisions=(double single)
finished=$(awk '{ n += $1 } END { print n + 0 }' "$folder/done")
while ((finished < rows)) && [ ! -e "$folder/stop" ]; do
	k=$(wc -l <"$folder/done")
	query=${queries[k % 3]} precision=${precisions[k / 3 % 2]} seed=$((${SEED:-1000000} + k))
	verdict=good
	if ! out=$("$folder/batchbench" run --sets "$sets" --pairs "$part" --rounds 1 --sample 100 --query "$query" \
		--precision "$precision" --seed "$seed" --backend cpu --workers "$workers" 2>&1); then
		verdict=bad
		printf '%s %s %s %s\n%s\n' "$part" "$query" "$precision" "$seed" "$out" >>"$folder/bad"
	fi
	echo "$part $query $precision $seed $verdict" >>"$folder/done"
	finished=$((finished + part))
done
printf '%s rows, %s of %s parts bad\n' "$finished" "$(grep -c 'bad$' "$folder/done" || true)" "$(wc -l <"$folder/done")"
! grep -q 'bad$' "$folder/done"
