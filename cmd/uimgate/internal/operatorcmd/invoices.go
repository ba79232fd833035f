package operatorcmd

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/invoice"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

var invoiceColumns = cli.Fields("intent rule calls unit_price amount currency",
	cli.TextColumn("intent", func(r billing.InvoiceRow) string { return cmp.Or(r.Intent, strconv.FormatInt(r.Others, 10)+" more") }),
)

func (o *operator) usageInvoice() *cobra.Command {
	var q billing.InvoiceQuery
	var format string
	var issue bool
	c := &cobra.Command{
		Use: "invoice AGENT --month MONTH", Short: "Write the invoice of an agent for a month", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Invoice writes the charges of an agent in one calendar month (UTC), as a page to print or as JSON. It lists the calls to
each intent under each rule at each price, and the sums by currency with the tax. It also lists the agreements of the
calls, each with the digests of its signature and of its policy. A call counts in the month in which it was captured. Amounts that were
still held at the end of the month, such as for calls of unknown outcome, are listed separately and are not part of any
sum.

Until an invoice is issued, it is a draft. --issue gives it the next number of the service, without gaps, and stores it:
it never changes, and is printed again whenever you ask for this month. This needs a month that has ended, the seller in
the configuration (services[].invoices), and the buyer (uimgate agents invoice-to).

An invoice has at most 1,000 rows, and one more row per currency that summarizes the rest. It lists the 1,000 agreements
with the most calls. The ledger has every charge.`,
		Example: `  uimgate usage invoice agent-1 --month 2026-11 > draft.html
  uimgate usage invoice agent-1 --month 2026-11 --issue > invoice.html
  uimgate usage invoice agent-1 --month 2026-11 -o json`,
		RunE: func(c *cobra.Command, args []string) error {
			if _, _, err := period("", "", q.Month); q.Month == "" || err != nil {
				return cli.Usage(cmp.Or[error](err, errors.New("--month is required, such as --month 2026-11")))
			}
			if format != "html" {
				o.format = format
			}
			q.Record = o.record(args[0])
			var bill billing.Invoice
			var err error
			if issue {
				bill, err = call(c, o, operation.IssueInvoice, billing.IssueRequest(q))
			} else {
				bill, err = call(c, o, operation.Invoice, q)
			}
			if err != nil {
				return err
			}
			switch format {
			case "json":
				return cli.PrintLine(c.OutOrStdout(), bill)
			case "csv":
				return cli.PrintCSV(c.OutOrStdout(), bill.Rows, invoiceColumns, true)
			case "table":
				return cli.PrintTable(c.OutOrStdout(), bill.Rows, invoiceColumns)
			default:
				return invoice.WriteHTML(c.OutOrStdout(), bill)
			}
		},
	}
	c.Flags().StringVar(&q.Month, "month", "", "the month in UTC, such as 2026-11")
	c.Flags().BoolVar(&issue, "issue", false, "issue the invoice under the next number, unless it was issued before")
	c.Flags().StringVarP(&format, "output", "o", "html", "html, json, csv or table; csv and table have only the calls")
	return c
}

var issuedColumns = cli.Fields("number month agent_id amount payable currency* issued_at buyer",
	cli.ForPeople("amount", func(i billing.IssuedInvoice) string { return cli.HumanAmount(i.Amount, i.Currency) }),
)

func (o *operator) usageInvoices() *cobra.Command {
	var q billing.IssuedQuery
	c := listCommand(o, &cobra.Command{
		Use: "invoices", Short: "List the invoices that were issued, newest first",
		Long: `Invoices lists the invoices that uimgate usage invoice --issue has issued, with a line for each currency: the exact sum
of the charges, and the amount that is payable with the tax.`,
		Example: "  uimgate usage invoices --month 2026-11 --all -o csv",
	}, issuedColumns, operation.IssuedInvoices, &q)
	agentFlag(c, &q.AgentID)
	c.Flags().StringVar(&q.Month, "month", "", "only invoices for this month, such as 2026-11")
	return c
}

func (o *operator) usageCreditNote() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "credit-note NUMBER", Short: "Write the credit note of a refund", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Credit-note writes the credit note of a refund as a page to print or as JSON. It names the seller and the buyer at the
time of the refund, the charge, the part that was refunded, and its tax. If an invoice with the charge was issued, it
names the number of the invoice. uimgate usage refunds lists the numbers of credit notes.`,
		Example: "  uimgate usage credit-note CN-000001 > credit-note.html\n  uimgate usage credit-note CN-000001 -o json",
		RunE: func(c *cobra.Command, args []string) error {
			if format != "html" && format != "json" {
				return cli.Usage(errors.New("--output must be html or json"))
			}
			note, err := call(c, o, operation.CreditNote, o.record(args[0]))
			if err != nil {
				return err
			}
			if format == "json" {
				return cli.PrintLine(c.OutOrStdout(), note)
			}
			return invoice.WriteCreditNote(c.OutOrStdout(), note)
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "html", "html or json")
	return c
}

var buyerColumns = cli.Fields("agent_id name address country tax_id vat email reference",
	cli.TextColumn("address", func(b billing.Buyer) string { return strings.Join(b.Address, ", ") }),
)

func (o *operator) agentsInvoiceTo() *cobra.Command {
	var b billing.BuyerChange
	var none bool
	c := &cobra.Command{
		Use: "invoice-to AGENT", Short: "Set or show the buyer that the invoices of an agent name", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Invoice-to sets the buyer that the invoices and credit notes of an agent name. It replaces the previous buyer.
Invoices that were issued do not change. Without flags, it shows the buyer. Agents never see the buyer.

--vat is the tax that the buyer pays: standard (the rate of the service), reverse-charge (none; the buyer accounts for
it) or exempt (none). uimgate does not check whether a rule applies: ask your tax adviser.`,
		Example: `  uimgate agents invoice-to agent-1 --name "Corner Shop SARL" --address "1 rue du Port" --address "13002 Marseille" \
    --country FR --tax-id FR12345678901 --vat reverse-charge
  uimgate agents invoice-to agent-1
  uimgate agents invoice-to agent-1 --clear`,
		RunE: func(c *cobra.Command, args []string) error {
			b.Record = o.record(args[0])
			stated := c.Flags().Changed("name") || len(b.Address) > 0 || b.Country+b.TaxID+b.Email+b.Reference != "" || b.VAT != ""
			switch {
			case none && stated:
				return cli.Usage(errors.New("--clear cannot be combined with other flags"))
			case stated && (b.Name == "" || len(b.Address) == 0 || b.Country == ""):
				return cli.Usage(errors.New("--name, --address and --country are required: together they replace the previous buyer"))
			}
			if !none && !stated {
				return printAnswer(c, o, buyerColumns, operation.Buyer, b.Record)
			}
			return printAnswer(c, o, buyerColumns, operation.SetBuyer, b)
		},
	}
	f := c.Flags()
	f.StringVar(&b.Name, "name", "", "name of the company or person")
	f.StringArrayVar(&b.Address, "address", nil, "a line of the postal address, without the country; repeat the flag for each line")
	f.StringVar(&b.Country, "country", "", "two-letter code of the country, such as FR")
	f.StringVar(&b.TaxID, "tax-id", "", "VAT number; required for reverse-charge")
	f.StringVar(&b.Email, "email", "", "where you send the invoices; uimgate sends nothing")
	f.StringVar(&b.Reference, "reference", "", "the customer's own reference, such as the number of an order")
	f.StringVar((*string)(&b.VAT), "vat", "", "standard, reverse-charge or exempt (default standard)")
	f.BoolVar(&none, "clear", false, "remove the buyer")
	return c
}
