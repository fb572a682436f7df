#!/usr/bin/env bash
# Trains and calibrates the built-in model digits: pretrained/digits.sh DATA OUT MODEL
#
# MODEL is the model to start from, such as the digits of train.sh. DATA contains the folders fsdd,
# speech-commands-12, arabic-sc, esc10, wake-words and coffee-orders (README.md names their
# sources). espeak-ng, ffmpeg and Debian's packages asterisk-core-sounds-{es,fr,it,ru}-g722 must be
# installed. OUT is made.
set -euo pipefail
data=$(cd "$1" && pwd) from=$(realpath "$3")
mkdir -p "$2" && out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
s4d=$out/s4d-fast
go build -o "$s4d" ./cmd/s4d-fast
near=yet,yell,guess,chess,nor,note,nose,snow,low,row,cup,pup,hop,dawn,town,gown,brown,lift,laughed,loft,ride,light,night,fright,own,odd,of,awful,coffee,cough,stuff,stock,step,top,goat,goal,gold,ghost,grow,dough,wonder,once,went,when,tune,tea,true,tree,free,through,fear,form,force,fire,fine,find,sick,socks,sits,heaven,settle,several,severe,ape,aid,hate,late,wait,mine,line,sign,wine,hero,zoo,zebra,arrow
"$s4d" data speak "$out/digits" --words zero,one,two,three,four,five,six,seven,eight,nine --clips 100
"$s4d" data speak "$out/near" --words "$near" --clips 10
"$s4d" data speak "$out/frequent" --words "$(xargs <pretrained/frequent.txt | tr " " ,)" --clips 4

# What is below test does not train: fold 2 of ESC-10, the speakers of the validation lists, every
# fourth recording of the sets whose names do not tell the speakers, and two of the voices.
recordings() { (cd "$data/$1" && find . -type f ! -name '*.txt' ! -name LICENSE | sed 's,^./,,' | grep -v ^_ | sort); }
copy() { mkdir -p "$out/$2" && tar -C "$data/$1" -cT - | tar -C "$out/$2" -x; } # FROM TO: the recordings on standard input
for set in arabic-sc speech-commands-12; do
	recordings $set | grep -vxFf "$data/$set/validation_list.txt" | copy $set $set
	recordings $set | grep -xFf "$data/$set/validation_list.txt" | copy $set test/$set
done
recordings esc10 | grep /1- | copy esc10 esc10
recordings esc10 | grep /2- | copy esc10 test/esc10
for set in wake-words coffee-orders; do
	recordings $set | awk 'NR % 4' | copy $set $set
	recordings $set | awk 'NR % 4 == 0' | copy $set test/$set
done
# voice FOLDER TO: telephone announcements of a voice.
voice() {
	(cd "/usr/share/asterisk/sounds/$1" && find . -name '*.g722') | while read -r f; do
		mkdir -p "$out/$2/$(dirname "$f")"
		ffmpeg -nostdin -v error -y -f g722 -i "/usr/share/asterisk/sounds/$1/$f" -ar 16000 -ac 1 "$out/$2/${f%.g722}.flac"
	done
}
voice es_MX_f_Allison spanish
voice fr_CA_f_June french
voice it_IT_m_Carlo test/italian
voice ru_RU_f_IvrvoiceRU test/russian

cd "$out"
"$s4d" train digits --from "$from" --data "$data/fsdd" --words digits \
	--other near,frequent,arabic-sc,spanish,french,wake-words,coffee-orders,speech-commands-12 --background esc10 \
	--seed 1 --threads 1 --set data.streams=640 --set train.epochs=50 --set optim.lr=0.005 --out run
"$s4d" calibrate run/best.safetensors --words "$data/fsdd/recordings" --label '^(\d)_\w+_[5-9]\.wav$' \
	--background test/italian --background test/arabic-sc --background test/speech-commands-12 --false-alarms 30 --write digits.safetensors
