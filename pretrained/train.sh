#!/usr/bin/env bash
# Trains and calibrates the models from which digits.sh starts: pretrained/train.sh DATA OUT [SEED…]
#
# DATA contains the folders fsdd, arabic-sc, esc10, speech-commands-12 and aclImdb, as "s4d-fast data
# fetch" makes them. espeak-ng must be installed. OUT is made. An interrupted run continues when it
# is started again.
set -euo pipefail
data=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd)
shift 2
seeds=("${@:-1}")
cd "$(dirname "$0")/.."
s4d=$out/s4d-fast
go build -o "$s4d" ./cmd/s4d-fast

# Sounds by espeak-ng, whose voices of --split train and test are disjoint, and computed noises. No other word sounds like a
# command or a digit, and neither does a word of the sentences. frequent.txt has the most frequent other words of the
# negative reviews.
commands=(yes no up down left right on off stop go)
digits=(zero one two three four five six seven eight nine)
near=(
	yet yell guess chess nor note nose snow low row cup pup hop dawn town gown brown lift laughed loft ride light
	night fright own odd of awful coffee cough stuff stock step top goat goal gold ghost grow dough wonder once
	went when tune tea true tree free through fear form force fire fine find sick socks sits heaven settle several
	severe ape aid hate late wait mine line sign wine hero zoo zebra arrow
)
alike=(
	ate billion eighteen eighth eighties eights eighty eleven fifteen fifth fifties fifty fives for fore forties
	forty fours fourteen fourth fourty gough hundred know knows million nines nineteen nineties ninety ninth noe o
	oh ok ones rite sevens seventeen seventh seventies seventy sixes sixteen sixth sixties sixty ten tenth third
	thirteen thirties thirty thousand threes to too tu twelve twenties twenty twos won wright write zeroes zeros
)
read -r -d '' -a frequent <pretrained/frequent.txt || :
join() { local IFS=,; echo "$*"; }
without=$(join "${commands[@]}" "${digits[@]}" "${alike[@]}")
make() { "$s4d" data "$1" "$out/$2" "${@:3}"; }
make speak digits --words "$(join "${digits[@]}")" --clips 100
make speak near --words "$(join "${near[@]}")" --clips 10
make speak frequent --words "$(join "${frequent[@]}")" --clips 4
make sentences sentences --text "$data/aclImdb/train/neg" --without "$without" --minutes 120
make noises noises --minutes 14
make sentences test/sentences --split test --text "$data/aclImdb/train/pos" --without "$without" --minutes 140

# link FROM TO: links the recordings of FROM that standard input lists in TO.
link() {
	while read -r f; do
		mkdir -p "$out/$2/$(dirname "$f")"
		ln -sf "$data/$1/$f" "$out/$2/$f"
	done
}
# list FROM: the recordings of FROM, without those of folders such as _unknown_.
list() { (cd "$data/$1" && find [!_]*/ -type f); }
# The clips of the validation lists only test: no speaker of theirs trains. Fold 1 of ESC-10 trains, fold 2 tests.
for set in arabic-sc speech-commands-12; do
	list $set | grep -vxFf "$data/$set/validation_list.txt" | link $set $set
	list $set | grep -xFf "$data/$set/validation_list.txt" | link $set test/$set
done
list esc10 | grep /1- | link esc10 esc10
list esc10 | grep /2- | link esc10 test/esc10

# train RUN OPTION…: trains, or continues an interrupted run.
train() {
	if [ -e "$out/$1/last" ]; then
		"$s4d" train --resume --out "$out/$1"
	else
		"$s4d" train "${@:2}" --out "$out/$1"
	fi
}
other=$(join "$out"/{near,frequent,sentences,arabic-sc}) background=$(join "$out"/{noises,esc10})
for seed in "${seeds[@]}"; do
	train "digits-$seed" digits --seed "$seed" --data "$data/fsdd" --words "$out/digits" --other "$other,$out/speech-commands-12" --background "$background" --set train.epochs=150
	"$s4d" calibrate "$out/digits-$seed/best.safetensors" --words "$data/fsdd/recordings" --label '^(\d)_\w+_[5-9]\.wav$' \
		--background "$out/test/sentences" --background "$out/test/arabic-sc" --background "$out/test/speech-commands-12" \
		--false-alarms 55 --write "$out/digits-$seed.safetensors"
done
