package admin

// OperationNames returns the method and the path of each operation, such as POST /agents/{id}/block.
func OperationNames(o *Operator) (names []string) {
	for _, one := range operations(o) {
		names = append(names, one.name())
	}
	return names
}
