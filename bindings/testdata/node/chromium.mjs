// chromium.mjs drives Chromium by the Chrome DevTools Protocol, as a person whose browser runs no scripts of pages.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import WebSocket from 'ws'

// start starts Chromium by its path and flags, with a new profile. Its tab function opens a tab with separate cookies.
export async function start([program, ...flags]) {
  const profile = mkdtempSync(join(tmpdir(), 'uimgate-chromium-'))
  const own = ['--remote-debugging-port=0', `--user-data-dir=${profile}`, '--no-startup-window']
  const child = spawn(program, [...flags, ...own], { stdio: ['ignore', 'ignore', 'pipe'] })
  const address = await new Promise((resolve, reject) => {
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
      const found = text.match(/DevTools listening on (\S+)/)
      if (found) resolve(found[1])
    })
    child.on('exit', () => reject(new Error(`Chromium ended: ${text.slice(-2000)}`)))
    child.on('error', reject)
  })
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => { socket.on('open', resolve); socket.on('error', reject) })
  const waiting = new Map()
  let last = 0
  const events = []
  socket.on('message', (data) => {
    const m = JSON.parse(data)
    if (m.id) {
      const { resolve, reject } = waiting.get(m.id)
      waiting.delete(m.id)
      if (m.error) reject(new Error(m.error.message))
      else resolve(m.result)
    } else for (const event of [...events]) event(m)
  })
  const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject })
    socket.send(JSON.stringify({ id: last, method, params, sessionId }))
  })
  const tab = async () => {
    const { browserContextId } = await send('Target.createBrowserContext')
    const { targetId } = await send('Target.createTarget', { url: 'about:blank', browserContextId })
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
    const call = (method, params) => send(method, params, sessionId)
    await call('Page.enable')
    await call('Emulation.setFocusEmulationEnabled', { enabled: true }) // the keyboard works in each of several tabs
    await call('Emulation.setScriptExecutionDisabled', { value: true })

    // loaded waits until a document is loaded after an action.
    const loaded = async (action) => {
      let stop
      const done = new Promise((resolve) => {
        const event = (m) => { if (m.method === 'Page.loadEventFired' && m.sessionId === sessionId) resolve() }
        events.push(event)
        stop = () => events.splice(events.indexOf(event), 1)
      })
      await action()
      await done
      stop()
    }
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, returnByValue: true })
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    }
    const key = async (name, code, text) => {
      await call('Input.dispatchKeyEvent', { type: 'keyDown', key: name, code: name, windowsVirtualKeyCode: code, text })
      await call('Input.dispatchKeyEvent', { type: 'keyUp', key: name, code: name, windowsVirtualKeyCode: code })
    }
    return {
      // forget removes the cookies.
      forget: () => call('Network.clearBrowserCookies'),
      open: (url) => loaded(() => call('Page.navigate', { url })),
      text: () => evaluate('document.body.innerText'),
      evaluate,
      // fill sets a field of the page; a value that is a boolean ticks a box.
      fill: (selector, value) => evaluate(`(() => { const e = document.querySelector(${JSON.stringify(selector)})
        ${typeof value === 'boolean' ? `e.checked = ${value}` : `e.value = ${JSON.stringify(value)}`} })()`),
      // press moves the focus to a button with the Tab key and presses Enter. It returns the names of the elements that had the focus.
      press: async (value) => {
        const order = []
        for (let n = 0; n < 60; n++) {
          await key('Tab', 9)
          const now = await evaluate('(document.activeElement.name || document.activeElement.tagName) + " " + (document.activeElement.value ?? "")')
          order.push(now)
          if (now === `decision ${value}`) {
            await loaded(() => key('Enter', 13, '\r'))
            return order
          }
        }
        throw new Error(`the keyboard does not reach ${value}: ${order}\n${await evaluate('document.body.innerText')}`)
      },
      // shoot returns the width of the page in a window of a width. With a path, it writes a picture of the whole page.
      shoot: async (path, width, dark) => {
        await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] })
        await call('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 })
        const wide = await evaluate('document.documentElement.scrollWidth')
        if (path) {
          const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true })
          writeFileSync(path, Buffer.from(data, 'base64'))
        }
        await call('Emulation.clearDeviceMetricsOverride')
        return wide
      },
    }
  }
  return {
    tab,
    close: async () => {
      const ended = new Promise((resolve) => child.on('exit', resolve))
      await send('Browser.close').catch(() => child.kill())
      await ended
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
