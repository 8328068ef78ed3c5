// Sends forms without leaving the page, says so within a second, and retries while the connection is away. Keeps a
// draft, shows the time left, and leaves a question that is paused elsewhere.
(function (d) {
  let form = d.querySelector('form[data-keep]')
  let say = d.getElementById('say')
  let print = d.getElementById('print')
  let tell = (name) => { say.textContent = name ? say.dataset[name] : '' }
  let store = {}
  let busy, away, told
  try { store = sessionStorage } catch (e) {}
  // A redirect means that the form was taken, so its URL is loaded. Otherwise the browser submits again and shows the
  // reply.
  let send = (sent) => {
    let over = new AbortController()
    let wait = setTimeout(tell, 700, away ? 'away' : 'wait')
    let late = setTimeout(() => over.abort(), 2e4)
    fetch(sent.action, { method: 'POST', body: new URLSearchParams(new FormData(sent)), redirect: 'manual', signal: over.signal })
      .then((reply) => {
        if (reply.status > 501) throw 0
        if (reply.type == 'opaqueredirect') location = sent.action
        else sent.submit()
      })
      .catch(() => {
        clearTimeout(wait)
        tell(away = 'away')
        setTimeout(send, 3e3, sent)
      })
      .then(() => clearTimeout(late))
  }
  d.onclick = (e) => {
    let { name, value, form: own, href } = e.target
    if (name == 'do') own.elements.act.value = value
    // With another button or a key held, a link opens in another tab, so this page shows no message.
    if (href && !e.target.hash && !(e.button || e.ctrlKey || e.metaKey || e.shiftKey)) setTimeout(tell, 700, 'wait')
  }
  d.onsubmit = (e) => {
    if (!window.AbortController) return
    e.preventDefault()
    if (!busy) busy = 1, send(e.target)
  }
  onpageshow = (e) => { if (e.persisted) location = location.pathname }
  if (print) {
    print.hidden = false
    print.onclick = () => window.print()
  }
  let pen = d.createElement('canvas').getContext('2d')
  // Shows hints for columns that do not fit, and the full text of a choice that is wider than its menu.
  let fit = () => {
    d.querySelectorAll('.wider').forEach((hint) => {
      let { scrollWidth, clientWidth } = hint.nextElementSibling
      hint.hidden = scrollWidth <= clientWidth
    })
    d.querySelectorAll('.whole').forEach((whole) => {
      let menu = whole.previousElementSibling
      let { text, value } = menu.options[menu.selectedIndex]
      pen.font = getComputedStyle(menu).font
      // A menu that is as wide as it wants to be shows every choice in full.
      menu.style = 'width: max-content; max-width: none'
      let wants = menu.offsetWidth
      menu.style = ''
      let cut = wants > menu.offsetWidth && pen.measureText(text).width > menu.clientWidth - 45
      whole.textContent = value && cut ? text : ''
    })
  }
  onresize = fit
  d.addEventListener('toggle', fit, true)
  d.addEventListener('change', fit)
  let others = window.BroadcastChannel && new BroadcastChannel('sitting')
  fit()
  if (!form) return others && others.postMessage(0)
  let look = () => busy || d.hidden || fetch(form.action, { method: 'HEAD', redirect: 'manual' })
    .then((reply) => { if (reply.type == 'opaqueredirect') location = form.action }, () => {})
  if (others) others.onmessage = look
  d.onvisibilitychange = look
  setInterval(look, 6e4)
  if (store.k == form.dataset.keep) {
    let kept = new URLSearchParams(store.v)
    for (let e of form.elements) {
      if (/[xo]$/.test(e.type)) e.checked = kept.getAll(e.name).includes(e.value)
      else if (/^te|sel/.test(e.type)) e.value = kept.get(e.name)
    }
    fit()
  }
  form.oninput = () => {
    store.k = form.dataset.keep
    store.v = new URLSearchParams(new FormData(form))
  }
  let from = performance.now()
  let time = d.getElementById('time')
  setInterval(() => {
    let left = Math.max(0, Math.ceil((time.dataset.left - Math.min(performance.now() - from, time.dataset.most)) / 6e4))
    let text = left > 1 ? left + ' minutes left' : left > 0 ? 'Less than 1 minute left' : 'Time is up'
    time.textContent = text
    if (told != left && (left == 10 || left == 5 || left < 2) && !busy) say.textContent = text
    told = left
  }, 5e3)
})(document)
