package main

import (
	"errors"
	"os/user"
	"strings"
	"testing"
)

func TestTheOperatorIsTheFirstWhoIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		user  user.User
		fault error
		want  string // "" for an error
	}{
		{"the variable", map[string]string{operatorVariable: "Aroha Ngata", "SUDO_USER": "deploy"}, user.User{Username: "root"}, nil, "Aroha Ngata"},
		{"the caller of sudo", map[string]string{"SUDO_USER": "aroha"}, user.User{Username: "root"}, nil, "aroha"},
		{"the user", nil, user.User{Username: "aroha"}, nil, "aroha"},
		{"a user without a name", nil, user.User{Uid: "1001"}, nil, "uid 1001"},
		{"no user", nil, user.User{}, errors.New("no such user"), ""},
		{"no user, but the variable", map[string]string{operatorVariable: "Aroha"}, user.User{}, errors.New("no such user"), "Aroha"},
		{"two spellings that look the same", map[string]string{operatorVariable: " Ma\u0304ui "}, user.User{}, nil, "Māui"},
		{"white space", map[string]string{operatorVariable: " "}, user.User{Username: "root"}, nil, ""},
		{"a line break", map[string]string{operatorVariable: "Aroha\nroot"}, user.User{}, nil, ""},
		{"another direction of the text", map[string]string{operatorVariable: "toor\u202e"}, user.User{}, nil, ""},
		{"a name that is too long", map[string]string{operatorVariable: strings.Repeat("a", 256)}, user.User{}, nil, ""},
	} {
		got, err := operatorName(func(name string) string { return tt.env[name] }, func() (*user.User, error) { return &tt.user, tt.fault })
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), operatorVariable) {
				t.Errorf("%s: %q, %v; want an error that names %s", tt.name, got, err, operatorVariable)
			}
		} else if got != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
