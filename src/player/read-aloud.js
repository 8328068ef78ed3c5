// Shows the button where the browser can speak, and reads the question, or stops.
(function () {
  var button = document.getElementById('read')
  var voice = window.speechSynthesis
  if (!voice) return
  button.hidden = false
  button.onclick = function () {
    if (voice.speaking) return voice.cancel()
    var words = new SpeechSynthesisUtterance(button.dataset.text)
    words.lang = 'en-GB'
    voice.speak(words)
  }
  onpagehide = function () { voice.cancel() }
})()
