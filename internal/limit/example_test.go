package limit_test

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/limit"
)

func Example() {
	rate, err := limit.ParseRate("1000/hour")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rate.Max, rate.Period, rate.Period.Seconds(), rate.Period.Rolling())

	month, err := limit.ParsePeriod("month")
	fmt.Println(month, month.Rolling(), err)
	_, err = limit.ParseRate("often")
	fmt.Println(err)
	// Output:
	// 1000 hour 3600 true
	// month false <nil>
	// "often": want a rate such as 1000/hour
}
