#!/usr/bin/env bash
# Trains and calibrates the built-in model commands: pretrained/commands.sh DATA OUT
#
# recordings.sh describes DATA and OUT.
# shellcheck source=pretrained/recordings.sh
. "$(dirname "$0")/recordings.sh" "$1" "$2"
"$s4d" train audio --data "$data/speech-commands-12" --words commands \
	--other "near,frequent,arabic-sc,spanish,french,english,wake-words,coffee-orders,digits,$data/fsdd" --background esc10 \
	--seed 1 --threads 1 --set data.streams=2560 --set train.epochs=150 --out commands-run
"$s4d" calibrate commands-run/best.safetensors --words "$data/speech-commands-12/validation_list.txt" --snr 20 \
	--background test/italian --background test/wake-words --background test/esc10 --false-alarms 5 --write commands.safetensors
