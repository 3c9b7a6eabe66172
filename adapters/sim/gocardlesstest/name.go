package gocardlesstest

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// submittedNameLength is the number of characters of a name in bank files.
const submittedNameLength = 18

// SubmittedName returns an account holder's name as it is sent to the bank: transliterated, in capitals, and cut to 18
// characters. The API gives the name as it was entered.
func SubmittedName(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(name) {
		switch latin, ok := letters[unicode.ToUpper(r)]; {
		case unicode.Is(unicode.Mn, r):
		case ok:
			b.WriteString(latin)
		case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" &-./'", r)):
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	return strings.TrimSpace(text[:min(len(text), submittedNameLength)])
}

// letters has the letters that do not decompose into one of A to Z and a mark.
var letters = map[rune]string{'ß': "SS", 'ẞ': "SS", 'Æ': "AE", 'Œ': "OE", 'Ø': "O", 'Đ': "D", 'Ð': "D", 'Þ': "TH", 'Ł': "L",
	'Ħ': "H", 'Ŋ': "NG", 'ʻ': "'", '’': "'", '‘': "'", '–': "-", '—': "-"}
