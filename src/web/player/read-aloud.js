// If the browser can speak, this script shows a button that starts and stops reading the page aloud.
(function (d) {
  let button = d.getElementById('read')
  let voice = window.speechSynthesis
  let read = button.textContent
  let run = 0
  let reading, lines
  if (!voice) return
  let show = (on) => { button.textContent = (reading = on) ? button.dataset.stop : read }
  button.hidden = false
  button.onclick = () => {
    let own = ++run
    voice.cancel()
    if (reading) return show()
    show(1)
    // Each line is an utterance, because browsers break off long ones. `lines` keeps them in memory, or `onend` may
    // never fire.
    lines = button.dataset.text.split('\n').map((line) => {
      let words = new SpeechSynthesisUtterance(line)
      words.lang = 'en-GB'
      return words
    })
    let last = lines[lines.length - 1]
    last.onend = last.onerror = () => { if (own == run) show() }
    lines.forEach((words) => voice.speak(words))
  }
  onpagehide = () => voice.cancel()
})(document)
