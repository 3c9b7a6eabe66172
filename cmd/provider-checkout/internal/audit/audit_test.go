package audit

import (
	"errors"
	"os/user"
	"strings"
	"testing"
)

func TestOperatorIsWhoeverIsNamedFirst(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		user  user.User
		fault error
		want  string // "" for an error
	}{
		{"the variable", map[string]string{OperatorVariable: "Aroha Ngata", "SUDO_USER": "deploy"}, user.User{Username: "root"}, nil, "Aroha Ngata"},
		{"who called sudo", map[string]string{"SUDO_USER": "aroha"}, user.User{Username: "root"}, nil, "aroha"},
		{"the user", nil, user.User{Username: "aroha"}, nil, "aroha"},
		{"a user without a name", nil, user.User{Uid: "1001"}, nil, "uid 1001"},
		{"no user", nil, user.User{}, errors.New("no such user"), ""},
		{"no user, but the variable", map[string]string{OperatorVariable: "Aroha"}, user.User{}, errors.New("no such user"), "Aroha"},
		{"two spellings that look the same", map[string]string{OperatorVariable: " Ma\u0304ui "}, user.User{}, nil, "Māui"},
		{"white space", map[string]string{OperatorVariable: " "}, user.User{Username: "root"}, nil, ""},
		{"a line break", map[string]string{OperatorVariable: "Aroha\nroot"}, user.User{}, nil, ""},
		{"another direction of the text", map[string]string{OperatorVariable: "toor\u202e"}, user.User{}, nil, ""},
		{"a name that is too long", map[string]string{OperatorVariable: strings.Repeat("a", 256)}, user.User{}, nil, ""},
	} {
		got, err := Operator(func(name string) string { return tt.env[name] }, func() (*user.User, error) { return &tt.user, tt.fault })
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), OperatorVariable) {
				t.Errorf("%s: %q, %v; want an error that names %s", tt.name, got, err, OperatorVariable)
			}
		} else if got != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestReasonIsOneReadableLine(t *testing.T) {
	if got, err := ParseReason("  prices of 2027, Ma\u0304ui "); got != "prices of 2027, Māui" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, reason := range []string{"a\nb", "a\x1b[2K", "\u202e", "\xff", strings.Repeat("ā", maxReason+1)} {
		if got, err := ParseReason(reason); err == nil {
			t.Errorf("%q is accepted as %q", reason, got)
		}
	}
	if _, err := ParseReason(strings.Repeat("ā", maxReason)); err != nil {
		t.Error(err)
	}
}
