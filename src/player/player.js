// Keeps what was filled in while the connection is away, sends it when it is back, and counts the time that is left.
(function (d) {
  let form = d.querySelector('form[data-keep]')
  let say = d.getElementById('say')
  let time = d.getElementById('time').dataset
  let from = performance.now()
  let store = {}
  let busy, told
  try { store = sessionStorage } catch (e) {}
  let send = () => fetch('/player/online', { method: 'HEAD' }).then(() => form.submit(), () => {
    say.textContent = say.dataset.away
    setTimeout(send, 3e3)
  })
  if (store.k == form.dataset.keep) {
    let kept = new URLSearchParams(store.v)
    for (let e of form.elements) {
      if (/[xo]$/.test(e.type)) e.checked = kept.getAll(e.name).includes(e.value)
      else if (/^te|sel/.test(e.type)) e.value = kept.get(e.name)
    }
  }
  form.oninput = () => {
    store.k = form.dataset.keep
    store.v = new URLSearchParams(new FormData(form))
  }
  form.onclick = (e) => { if (e.target.name == 'do') form.elements.act.value = e.target.value }
  form.onsubmit = (e) => {
    e.preventDefault()
    if (!busy) busy = send()
  }
  onpageshow = () => { busy = 0 }
  setInterval(() => {
    let left = Math.ceil((time.left - Math.min(performance.now() - from, time.most)) / 6e4)
    let text = left > 1 ? left + ' minutes left' : left > 0 ? 'Less than 1 minute left' : 'Time is up'
    d.getElementById('time').textContent = text
    if (told != left && (left == 10 || left == 5 || left < 2)) say.textContent = text
    told = left
  }, 5e3)
})(document)
