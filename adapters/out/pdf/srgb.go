package pdf

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// srgbProfile returns an ICC profile (version 4) of the colours that the documents are in. It is made here from the numbers of
// IEC 61966-2-1: the primaries adapted to the profile's white, which is D50, and the curve.
func srgbProfile() []byte {
	text := func(s string) []byte { // one text, in English
		b := append([]byte("mluc\x00\x00\x00\x00"), 0, 0, 0, 1, 0, 0, 0, 12, 'e', 'n', 'N', 'Z')
		b = binary.BigEndian.AppendUint32(b, uint32(2*len(s)))
		b = binary.BigEndian.AppendUint32(b, 28)
		for _, unit := range utf16.Encode([]rune(s)) {
			b = binary.BigEndian.AppendUint16(b, unit)
		}
		return b
	}
	fixed := func(kind string, numbers ...float64) []byte {
		b := append([]byte(kind), 0, 0, 0, 0)
		for _, n := range numbers {
			b = binary.BigEndian.AppendUint32(b, uint32(int32(math.Round(n*65536))))
		}
		return b
	}
	curve := append([]byte("para\x00\x00\x00\x00\x00\x03\x00\x00"), fixed("", 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045)[4:]...)
	tags := []table{
		{"desc", text("sRGB")},
		{"cprt", text("CC0")},
		{"wtpt", fixed("XYZ ", 0.9642, 1, 0.8249)},
		{"chad", fixed("sf32", 1.047882, 0.022919, -0.050201, 0.029587, 0.990479, -0.017059, -0.009232, 0.015076, 0.751678)},
		{"rXYZ", fixed("XYZ ", 0.436066, 0.222488, 0.013916)},
		{"gXYZ", fixed("XYZ ", 0.385147, 0.716873, 0.097076)},
		{"bXYZ", fixed("XYZ ", 0.143066, 0.060608, 0.714096)},
		{"rTRC", curve}, {"gTRC", curve}, {"bTRC", curve},
	}
	const header = 128
	profile := make([]byte, header)
	copy(profile[8:], "\x04\x20\x00\x00mntrRGB XYZ ")
	copy(profile[24:], "\x07\xEA\x00\x0B\x00\x16\x00\x00\x00\x00\x00\x00acsp") // the date of the profile
	copy(profile[68:], fixed("", 0.9642, 1, 0.8249)[4:])
	profile = binary.BigEndian.AppendUint32(profile, uint32(len(tags)))
	offset := header + 4 + 12*len(tags)
	for _, t := range tags {
		profile = append(profile, t.tag...)
		profile = binary.BigEndian.AppendUint32(profile, uint32(offset))
		profile = binary.BigEndian.AppendUint32(profile, uint32(len(t.data)))
		offset += (len(t.data) + 3) &^ 3
	}
	for _, t := range tags {
		profile = append(profile, t.data...)
		for len(profile)%4 != 0 {
			profile = append(profile, 0)
		}
	}
	binary.BigEndian.PutUint32(profile, uint32(len(profile)))
	return profile
}
