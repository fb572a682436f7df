package suggest

import "testing"

func TestName(t *testing.T) {
	known := []string{"delay", "scifar", "smnist", "digits", "ssm.init", "ssm.step"}
	for _, test := range []struct{ name, expected string }{
		{"digitz", "digits"},
		{"ssm.innit", "ssm.init"},
		{"cifar", "scifar"},
		{"dealy", "delay"},
		{"delay", ""}, // known
		{"", ""},
		{"imagenet", ""},
		{"runs/fsdd", ""},
	} {
		if got := Name(test.name, known); got != test.expected {
			t.Errorf("Name(%q) = %q, expected %q", test.name, got, test.expected)
		}
	}
}

func TestHint(t *testing.T) {
	if got, expected := Hint("digitz", []string{"digits"}), `; did you mean "digits"?`; got != expected {
		t.Errorf("Hint = %q, expected %q", got, expected)
	}
	if got := Hint("imagenet", []string{"digits"}); got != "" {
		t.Errorf("Hint of a name far from every known one = %q, expected none", got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b     string
		expected int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0}, {"flaw", "lawn", 2}} {
		if got := distance(test.a, test.b); got != test.expected {
			t.Errorf("distance(%q, %q) = %d, expected %d", test.a, test.b, got, test.expected)
		}
	}
}
