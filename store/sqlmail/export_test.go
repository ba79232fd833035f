package sqlmail

// Fold is how texts are compared.
var Fold = fold
