package e2e

var (
	Public = public
	Secret = secret
)
