// Additions to pages that work without them: times in the reader's time zone, and figures that are kept up to date.
(function () {
  'use strict'
  const zone = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })
  for (const t of document.querySelectorAll('time[datetime]')) {
    const at = new Date(t.getAttribute('datetime'))
    if (isNaN(at) || at.getTimezoneOffset() === 0) continue
    const local = document.createElement('small')
    local.className = 'local'
    local.textContent = ' (' + zone.format(at) + ' here)'
    t.after(local)
  }
  const main = document.querySelector('main[data-live]')
  if (!main || !window.EventSource) return
  const events = new EventSource(main.dataset.live)
  events.addEventListener('figures', (e) => {
    const figures = JSON.parse(e.data)
    for (const el of main.querySelectorAll('[data-figure]')) {
      const text = figures[el.dataset.figure]
      if (typeof text === 'string' && el.textContent !== text) el.textContent = text
    }
  })
  window.addEventListener('pagehide', () => events.close())
})()
