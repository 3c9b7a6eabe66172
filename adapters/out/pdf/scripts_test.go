package pdf_test

// scripts are names in the scripts that documents can print.
var scripts = map[string]string{
	"Māori":                  "Ngāio Tūī ʻOkina",
	"Western European":       "Zoë Ångström-Peña Œuvre",
	"Eastern European":       "Łukasz Dvořák Őze Şğı",
	"Vietnamese":             "Nguyễn Thị Ánh",
	"Greek":                  "Ωμέγα Παπαδόπουλος",
	"Cyrillic":               "Жанна Щербакова",
	"Armenian":               "Հայաստան",
	"Georgian":               "გიორგი",
	"Chinese, simplified":    "李小龙 王伟",
	"Chinese, traditional":   "陳大文 劉德華",
	"Japanese":               "山田 さくら サクラ ー",
	"Korean":                 "김민준 박서연",
	"Devanagari":             "महेश क्षत्रिय श्री हिन्दी",
	"Nepali":                 "लक्ष्मी थापा",
	"Thai":                   "สมชาย น้ำผึ้ง ปู่",
	"Arabic":                 "محمد علي",
	"Arabic ligatures":       "علاء الأحمد صلاح إسلام",
	"Persian with a joiner":  "علی\u200cرضا",
	"Urdu":                   "عائشہ خان",
	"Hebrew":                 "שלום בן־דוד",
	"marks that do not join": "x\u0304 A\u030b",
	"several":                "李 Nguyễn محمد महेश สม",
}
