package checkout

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest text of a request, in characters.
const maxText = 255

// checker gathers the faults of a request, at most one a field: the first stands.
type checker struct {
	faults []Fault
	hints  Hints
}

// Hints ask, by the path of a field that is absent, whether something else in the request was meant
// for it: `is "emial" a misspelling of it?`.
type Hints map[string]string

// hint returns how a message about the absent field goes on.
func (k *checker) hint(field string) string {
	if k.hints[field] == "" {
		return ""
	}
	return "; " + k.hints[field]
}

// failed tells whether the field has a fault already.
func (k *checker) failed(field string) bool {
	for _, f := range k.faults {
		// A section that could not be read stands for all of its fields.
		if f.Field == field || strings.HasPrefix(field, f.Field+".") {
			return true
		}
	}
	return false
}

func (k *checker) fault(field, format string, args ...any) {
	if !k.failed(field) {
		k.faults = append(k.faults, Fault{field, fmt.Sprintf(format, args...)})
	}
}

// err returns the faults as one refusal, or nil.
func (k *checker) err() error {
	if len(k.faults) == 0 {
		return nil
	}
	return Refuse(CodeInvalid, "the request has missing or invalid fields; details says what each must be", k.faults...)
}

// require reports the field if it was not given.
func require[T any](k *checker, field string, v Given[T]) bool {
	if !v.OK {
		k.fault(field, "is required%s", k.hint(field))
	}
	return v.OK && !k.failed(field)
}

// text reports a required text that is not 1 to 255 characters without control characters.
func (k *checker) text(field string, v Given[string]) bool {
	if !require(k, field, v) {
		return false
	}
	if message := textFault(v.Value); message != "" {
		k.fault(field, "%s", message)
		return false
	}
	return true
}

// name reports a required text that shows nothing to a reader.
func (k *checker) name(field string, v Given[string]) {
	if k.text(field, v) && !strings.ContainsFunc(v.Value, visible) {
		k.fault(field, "must hold a visible character")
	}
}

func visible(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }

// textFault says what is wrong with a text, or "".
func textFault(s string) string {
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case n == 0:
		return "must not be empty"
	case n > maxText:
		return fmt.Sprintf("must be at most %d characters, not %d", maxText, n)
	case strings.ContainsFunc(s, unicode.IsControl):
		return "must not contain control characters"
	}
	return ""
}

// email reports a required e-mail address that cannot be one. It asks for one @ between a
// local part and a dotted domain; whether mail arrives is not for us to say.
func (k *checker) email(field string, v Given[string]) {
	if !k.text(field, v) {
		return
	}
	local, domain, found := strings.Cut(v.Value, "@")
	switch {
	case !found, local == "", len(local) > 64, len(v.Value) > 254,
		strings.Contains(domain, "@"),
		strings.ContainsFunc(v.Value, unicode.IsSpace),
		strings.ContainsAny(v.Value, `<>()[]\,;:"`),
		!dotted(domain), strings.HasPrefix(local, "."), strings.HasSuffix(local, "."):
		k.fault(field, "must be an e-mail address, such as name@example.ac.nz")
	}
}

// dotted tells whether domain is two or more labels of letters, digits and inner hyphens.
func dotted(domain string) bool {
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool {
				return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
			}) {
			return false
		}
	}
	return len(labels) > 1
}

// only reports a given value that is not the one that is possible.
func (k *checker) only(field string, v Given[string], want string) {
	if v.OK && v.Value != want {
		k.fault(field, "must be %q", want)
	}
}
