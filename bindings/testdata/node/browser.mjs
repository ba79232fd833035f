// browser.mjs is a person with a browser without JavaScript.
const unescape = (text) => text.replace(/&#(\d+);/g, (_, n) => String.fromCharCode(n)).replace(/&#34;|&quot;/g, '"').replace(/&amp;/g, '&')

// attributes reads the attributes of an HTML tag.
const attributes = (tag) => Object.fromEntries([...tag.matchAll(/([a-z]+)(?:="([^"]*)")?/g)].map((m) => [m[1], unescape(m[2] ?? '')]))

// agree opens the page and presses Agree. It returns where the browser is sent.
export async function agree(page) {
  const shown = await fetch(page, { redirect: 'manual' })
  const text = await shown.text()
  if (shown.status !== 200) throw new Error(`the page: ${shown.status} ${shown.headers.get('Location')} ${text.slice(0, 500)}`)
  const form = new URLSearchParams()
  for (const [tag] of text.matchAll(/<input [^>]*>/g)) {
    const a = attributes(tag.slice(6))
    if (a.type === 'hidden' || a.type === 'checkbox' && 'checked' in a) form.append(a.name, a.value)
  }
  form.append('decision', 'agree')
  const { action } = attributes(text.match(/<form [^>]*>/)[0].slice(5))
  const answer = await fetch(new URL(action, page), {
    method: 'POST', body: form, redirect: 'manual',
    headers: { Cookie: shown.headers.get('Set-Cookie').split(';')[0], 'Sec-Fetch-Site': 'same-origin' },
  })
  if (answer.status !== 303) throw new Error(`agreeing: ${answer.status} ${(await answer.text()).slice(0, 500)}`)
  return new URL(answer.headers.get('Location'))
}
