#!/usr/bin/env bash
# Trains and calibrates the built-in models: pretrained/train.sh DATA OUT [SEED…]
#
# DATA contains the folders speech-commands-12, fsdd, arabic-sc and esc10 and the file
# aclImdb-train.tar.xz (README.md names their sources). espeak-ng must be installed. OUT is made.
# An interrupted run continues when it is started again. Two processors take about two hours for
# the three seeds 1, 2 and 3.
set -euo pipefail
data=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd)
shift 2
seeds=("${@:-1}")
cd "$(dirname "$0")/.."
s4d=$out/s4d-fast corpus=$out/corpus
go build -o "$s4d" ./cmd/s4d-fast
go build -o "$corpus" ./bench/corpus

# Sounds by espeak-ng, whose voices train and test are disjoint, and computed noises.
text=$data/aclImdb-train.tar.xz without=commands,digits
make() { "$corpus" "$1" -out "$out/$2" "${@:3}"; }
make words commands -words commands -clips 40 -seed 1
make words digits -words digits -clips 100 -rate 8000 -seed 5
make words near -words near -clips 10 -without $without -seed 4
make words frequent -words frequent -frequent 300 -clips 4 -text "$text" -match train/neg/ -without $without -seed 3
make sentences sentences -text "$text" -match train/neg/ -without $without -minutes 120 -seed 2
make noises noises -minutes 14 -seed 7
make sentences test/sentences -set test -text "$text" -match train/pos/ -without $without -minutes 140 -seed 6
make noises test/noises -set test -minutes 30 -seed 8

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
join() { local IFS=,; echo "$*"; }
other=$(join "$out"/{near,frequent,sentences,arabic-sc}) background=$(join "$out"/{noises,esc10})
# against SET…: calibrates with the background of the sets.
against() {
	silence=()
	for set in "$@"; do silence+=(--background "$out/test/$set"); done
}
for seed in "${seeds[@]}"; do
	train "commands-$seed" audio --seed "$seed" --data "$data/speech-commands-12" --words "$out/commands" --other "$other" --background "$background" --set train.epochs=300
	against sentences arabic-sc noises esc10
	"$s4d" calibrate "$out/commands-$seed/best.safetensors" --words "$data/speech-commands-12/validation_list.txt" \
		"${silence[@]}" --false-alarms 1 --out "$out/commands-$seed.safetensors"
	train "digits-$seed" digits --seed "$seed" --data "$data/fsdd" --words "$out/digits" --other "$other,$out/speech-commands-12" --background "$background" --set train.epochs=150
	against sentences arabic-sc speech-commands-12
	"$s4d" calibrate "$out/digits-$seed/best.safetensors" --words "$data/fsdd/recordings" --label '^(\d)_\w+_[5-9]\.wav$' \
		"${silence[@]}" --false-alarms 55 --out "$out/digits-$seed.safetensors"
done
