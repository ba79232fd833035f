package chat

import "strings"

// A Command is the command in a text. Commands are words of a fixed list: no model guesses what is meant.
type Command struct {
	Name string // help, list, show, policy, agree or run; empty: none, and Rest is the whole text
	Rest string // the text after the name
}

// commands are the known commands.
var commands = map[string]bool{"help": true, "list": true, "show": true, "policy": true, "agree": true, "run": true}

// Read returns the command in a text.
func Read(text string) Command {
	text = strings.TrimSpace(text)
	first, rest := cut(text)
	if name := strings.ToLower(first); commands[name] {
		return Command{name, rest}
	}
	return Command{Rest: text}
}

// Cut splits the text after a command behind its first word.
func (c Command) Cut() (word, rest string) { return cut(c.Rest) }

func cut(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// Agrees returns the digest of the policy that a message agrees to. The message must have one text item, nothing else except the start or
// the end of a session, and the text must be agree and the digest. So no agent agrees in passing, or by two texts that another agent
// joined. ok is false for any other message.
func (m Message) Agrees() (digest string, ok bool) {
	c := Read(m.Text)
	digest, rest := c.Cut()
	return digest, m.Texts == 1 && m.Others == 0 && c.Name == "agree" && digest != "" && rest == ""
}
