package text_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/testdata"
)

// row is a text with what a function is to return for it.
type row struct{ name, text, want string }

func checkAll(t *testing.T, f func(string) string, rows []row) {
	t.Helper()
	for _, tt := range rows {
		if got := f(tt.text); got != tt.want {
			t.Errorf("%s: for %q it returns %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestCheckReadable(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a long text", strings.Repeat("words ", 1000), ""},
		{"U+0000", "a\x00", "must not contain control characters"},
		{"a right-to-left override", "Aroha\u202egpj.exe", "must not contain U+202E, which changes the direction of the text"},
		{"a right-to-left mark", "a\u200f", "must not contain U+200F, which changes the direction of the text"},
		{"an Arabic letter mark", "a\u061c", "must not contain U+061C, which changes the direction of the text"},
		{"a first strong isolate", "\u2068a", "must not contain U+2068, which changes the direction of the text"},
		{"a line separator", "a\u2028", "must not contain U+2028, which separates lines"},
		{"a paragraph separator", "a\u2029", "must not contain U+2029, which separates lines"},
		{"a noncharacter of the first plane", "a\ufffe", "must not contain U+FFFE, which is no character"},
		{"a noncharacter of Arabic presentation forms", "\ufdd0", "must not contain U+FDD0, which is no character"},
		{"the last noncharacter", "\U0010ffff", "must not contain U+10FFFF, which is no character"},
		{"a joiner, which names of some scripts need", "नर\u200dस", ""},
		{"Hebrew", "נועה", ""},
	} {
		if got := text.CheckReadable(tt.text); got != tt.want {
			t.Errorf("%s: CheckReadable(%q) = %q, want %q", tt.name, tt.text, got, tt.want)
		}
		if got := text.CheckName("name " + tt.text); len(tt.text) < 255 && got != tt.want {
			t.Errorf("%s: CheckName = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCheckName(t *testing.T) {
	checkAll(t, text.CheckName, []row{
		{"a name", "Tāmati", ""},
		{"spaces only", "  ", "must hold a visible character"},
		{"a space of no width", "\u200b", "must hold a visible character"},
		{"a filler of Hangul", "\u3164", "must hold a visible character"},
		{"a filler of half width", "\uffa0", "must hold a visible character"},
		{"a Braille pattern without dots", "\u2800", "must hold a visible character"},
		{"one sign", ".", ""},
		{"a fault of the text itself", "", "must not be empty"},
	})
}

// Further addresses are in testdata/acceptance.json.
func TestCheckEmail(t *testing.T) {
	const wrong = "must be an e-mail address, such as name@example.ac.nz"
	local := strings.Repeat("l", 64)
	checkAll(t, text.CheckEmail, []row{
		{"two dots inside", "x..y@z.nz", ""},
		{"a local part of 64 bytes, 254 in all", local + "@" + strings.Repeat("h", 186) + ".nz", ""},
		{"a local part of 65 bytes", local + "l@x.nz", wrong},
		{"255 bytes in all", local + "@" + strings.Repeat("h", 187) + ".nz", wrong},
		{"a dot at the end of the local part", "john.@docomo.example", ""},
		{"nothing but dots", "..@x.nz", wrong},
		{"a space of no width", "a\u200b@x.nz", "must not contain U+200B, which nobody can see"},
		{"a joiner", "a\u200d@x.nz", "must not contain U+200D, which nobody can see"},
		{"a byte order mark", "\ufeffa@x.nz", "must not contain U+FEFF, which nobody can see"},
		{"a soft hyphen", "a\u00adb@x.nz", "must not contain U+00AD, which nobody can see"},
		{"a filler of Hangul", "a\u3164@x.nz", "must not contain U+3164, which nobody can see"},
		{"a variation selector", "a\ufe0f@x.nz", "must not contain U+FE0F, which nobody can see"},
		{"a line feed", "a@x.nz\n", "must not contain control characters"},
		{"a right-to-left override", "a\u202e@x.nz", "must not contain U+202E, which changes the direction of the text"},
		{"nothing", "", "must not be empty"},
	})
}

func TestNormalize(t *testing.T) {
	checkAll(t, text.Normalize, []row{
		{"letters with their marks apart", "Ta\u0304mati", "Tāmati"},
		{"spaces around", " \u00a0\u2003Aroha ", "Aroha"},
		{"spaces inside stay", "Te  Ao", "Te  Ao"},
		{"control characters stay for Check", "\tAroha\n", "\tAroha\n"},
	})
}

func TestNormalizeEmail(t *testing.T) {
	checkAll(t, text.NormalizeEmail, []row{
		{"plain", "Hana@Example.AC.NZ", "Hana@example.ac.nz"},
		{"macrons of a domain", "hana@k\u014drero.nz", "hana@kōrero.nz"},
		{"with their marks apart", "hana@ko\u0304rero.nz", "hana@kōrero.nz"},
		{"in capitals", "hana@KŌRERO.nz", "hana@kōrero.nz"},
		{"in ASCII", "hana@xn--krero-g9a.nz", "hana@kōrero.nz"},
		{"of full width", "hana@ｋōrero。nz", "hana@kōrero.nz"},
		{"a local part with its marks apart", "ta\u0304ne@x.nz", "tāne@x.nz"},
		{"no address", "Hana", "Hana"},
		{"no host", "hana@-x-.nz", "hana@-x-.nz"},
	})
}

func TestNormalizedTextStaysAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := text.Normalize(rapid.String().Draw(t, "text"))
		if twice := text.Normalize(once); twice != once {
			t.Errorf("Normalize(%q) = %q", once, twice)
		}
	})
}

func TestNamesOfPeople(t *testing.T) {
	var v struct {
		Description string
		Cases       []struct{ Script, Given, Family, Name string }
	}
	testdata.Read(t, "names.json", &v)
	for _, c := range v.Cases {
		if got := text.FullName(c.Given, c.Family); got != c.Name {
			t.Errorf("FullName(%q, %q) = %q, want %q", c.Given, c.Family, got, c.Name)
		}
		if fault := text.CheckName(c.Given); fault != "" || text.Normalize(c.Given) != c.Given {
			t.Errorf("%q %s; Normalize gives %q", c.Given, fault, text.Normalize(c.Given))
		}
	}
	for _, tt := range []struct{ given, family, want string }{
		{"サクラ", "ドー", "ドーサクラ"},
		{"Bruce 小龍", "李", "Bruce 小龍 李"},
		{"小龍", "Lee", "小龍 Lee"},
		{"", "Sukarno", "Sukarno"},
		{"", "李", "李"},
		{"", "", ""}, // which was erased
	} {
		if got := text.FullName(tt.given, tt.family); got != tt.want {
			t.Errorf("FullName(%q, %q) = %q, want %q", tt.given, tt.family, got, tt.want)
		}
	}
}

func TestABlankNameIsNotIsolated(t *testing.T) {
	if got, want := text.Isolate("Hello Ana Tane,", text.FullName("", ""), "", "Ana Tane"), "Hello <bdi translate=\"no\">Ana Tane</bdi>,"; got != want {
		t.Errorf("Isolate = %q, want %q", got, want)
	}
}

func TestFoldNameLeavesOutWhatASearcherMayLeaveOut(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"Tūhoe", "tuhoe"},
		{"TU\u0304HOE", "tuhoe"},
		{"  Māia  Tūhoe-Wāhanga ", "maia tuhoe wahanga"},
		{"O’Neill", "oneill"},
		{"O'NEILL", "oneill"},
		{"Weiß Łukasz Søren Æsop Đinh", "weiss lukasz soren aesop dinh"},
		{"İnci Işık", "inci isik"},
		{"ﬁona", "fiona"},
		{"王小明", "王小明"},
		{"100% _x_", "100 x"},
		{"-", ""},
		{"", ""},
	} {
		if got := text.FoldName(tt.name); got != tt.want {
			t.Errorf("FoldName(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFoldEmailKeepsEverySign(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{" Māia.Tuhoe+x_%@Students.Example.AC.NZ ", "maia.tuhoe+x_%@students.example.ac.nz"},
		{"o'neill@example.nz", "o'neill@example.nz"},
	} {
		if got := text.FoldEmail(tt.address); got != tt.want {
			t.Errorf("FoldEmail(%q) = %q, want %q", tt.address, got, tt.want)
		}
	}
}
