package chat

import "strings"

// A Command is the command at the beginning of a chat message. Commands are words from a fixed list; no language model interprets the text.
type Command struct {
	Name string // help, list, show, policy, agree or run; empty if there is no command
	Rest string // the text after the name of the command; without a command, the whole text
}

// commands contains the known commands.
var commands = map[string]bool{"help": true, "list": true, "show": true, "policy": true, "agree": true, "run": true}

// Read returns the command at the beginning of the text of a chat message.
func Read(text string) Command {
	text = strings.TrimSpace(text)
	first, rest := cut(text)
	if name := strings.ToLower(first); commands[name] {
		return Command{name, rest}
	}
	return Command{Rest: text}
}

// Cut splits Rest into its first word and the text after that word.
func (c Command) Cut() (word, rest string) { return cut(c.Rest) }

func cut(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// Agrees returns the digest of the policy that a message agrees to, and the plan that it chooses; empty: none. ok is true only if the
// message has exactly one text item, and no other items except the start or the end of a session. The text must consist of agree and the
// digest, optionally followed by the word plan and the name of the plan. Therefore an agent cannot agree by accident, or because another
// agent joins two of its texts.
func (m Message) Agrees() (digest, plan string, ok bool) {
	c := Read(m.Text)
	digest, rest := c.Cut()
	if word, name, chooses := strings.Cut(rest, " "); chooses && word == "plan" {
		plan, rest = strings.TrimSpace(name), ""
	}
	ok = m.Texts == 1 && m.Others == 0 && c.Name == "agree" && digest != "" && rest == "" && !strings.ContainsAny(plan, " \t\n")
	return digest, plan, ok
}
