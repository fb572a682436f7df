# Prepares the recordings of commands.sh, digits.sh and wake.sh, which source it: . recordings.sh DATA OUT
#
# DATA contains the folders fsdd, speech-commands-12, arabic-sc, esc10, wake-words and coffee-orders
# (README.md names their sources). espeak-ng, flite, festival, ffmpeg and Debian's packages
# asterisk-core-sounds-{en,es,fr,it,ru}-g722 must be installed. OUT is made; what is there is kept.
set -euo pipefail
data=$(cd "$1" && pwd)
mkdir -p "$2" && out=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
s4d=$out/s4d-fast
go build -o "$s4d" ./cmd/s4d-fast
near=yet,yell,guess,chess,nor,note,nose,snow,low,row,cup,pup,hop,dawn,town,gown,brown,lift,laughed,loft,ride,light,night,fright,own,odd,of,awful,coffee,cough,stuff,stock,step,top,goat,goal,gold,ghost,grow,dough,wonder,once,went,when,tune,tea,true,tree,free,through,fear,form,force,fire,fine,find,sick,socks,sits,heaven,settle,several,severe,ape,aid,hate,late,wait,mine,line,sign,wine,hero,zoo,zebra,arrow
speak() { [ -e "$out/$1" ] || "$s4d" data speak "$out/$1" --words "$2" --clips "$3"; } # FOLDER WORDS CLIPS
speak commands yes,no,up,down,left,right,on,off,stop,go 100
speak digits zero,one,two,three,four,five,six,seven,eight,nine 100
speak near "$near" 10
speak frequent "$(xargs <pretrained/frequent.txt | tr " " ,)" 4

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
	[ ! -e "$out/$2" ] || return 0
	(cd "/usr/share/asterisk/sounds/$1" && find . -name '*.g722') | while read -r f; do
		mkdir -p "$out/$2.part/$(dirname "$f")"
		ffmpeg -nostdin -v error -y -f g722 -i "/usr/share/asterisk/sounds/$1/$f" -ar 16000 -ac 1 "$out/$2.part/${f%.g722}.flac"
	done
	mkdir -p "$out/$(dirname "$2")" && mv "$out/$2.part" "$out/$2"
}
voice en_US_f_Allison english
voice es_MX_f_Allison spanish
voice fr_CA_f_June french
voice it_IT_m_Carlo test/italian
voice ru_RU_f_IvrvoiceRU test/russian
cd "$out"
