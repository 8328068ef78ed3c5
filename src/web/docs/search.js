// The search, and buttons that copy code. The search needs no server: its index is a script, which loads at the first
// search.
(function () {
  var root = document.documentElement.dataset.root;
  var form = document.querySelector('form[role=search]');
  var field = form.querySelector('input');
  var panel = document.getElementById('site-found');
  var said = document.getElementById('site-said');
  var list = document.getElementById('site-results');
  var index = null;
  form.hidden = false;

  function load() {
    if (index || document.getElementById('site-index')) return;
    var script = document.createElement('script');
    script.id = 'site-index';
    script.src = root + 'search-index.js';
    script.onload = function () {
      var raw = window.searchIndex;
      var words = raw.words.split('\n').map(function (line) {
        var at = 0;
        var parts = line.split(' ');
        return { word: parts[0], held: parts.slice(1).map(function (step) { return (at += parseInt(step, 36)); }) };
      });
      index = { pages: raw.pages, sections: raw.sections, stopWords: raw.stopWords, words: words };
      show();
    };
    document.head.append(script);
  }

  function split(text) {
    return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []).filter(function (word) { return word.length > 1; });
  }

  // Whether one added, missing, changed or swapped letter turns one word into the other.
  function isNear(a, b) {
    if (a === b || Math.abs(a.length - b.length) > 1 || a.length < 4) return a === b;
    var i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    if (a.length === b.length) return a.slice(i + 1) === b.slice(i + 1) || (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
    return a.length > b.length ? a.slice(i + 1) === b.slice(i) : a.slice(i) === b.slice(i + 1);
  }

  // The sections that contain a word, each with a weight. Words that only begin with the searched word weigh less.
  function holders(word, matches) {
    var found = new Map();
    var single = word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word;
    index.words.forEach(function (one) {
      var weight = one.word === word || one.word === single ? 3 : matches(one.word, single) ? 1 : 0;
      if (weight) one.held.forEach(function (at) { found.set(at, Math.max(weight, found.get(at) || 0)); });
    });
    return found;
  }

  function find(text) {
    // Words such as "the" are ignored if the text has other words. Alone they may be the start of a longer word.
    var all = split(text);
    var telling = all.filter(function (word) { return index.stopWords.indexOf(word) < 0; });
    var words = telling.length ? telling : all;
    var sets = words.map(function (word) { return holders(word, function (one, single) { return one.startsWith(single); }); });
    var near = false;
    sets = sets.map(function (set, i) {
      if (set.size || words[i].length < 4) return set;
      near = true;
      return holders(words[i], isNear);
    }).filter(function (set) { return set.size; });
    if (!sets.length) return { near: near, hits: [] };
    var whole = text.trim().toLowerCase();
    var hits = [];
    sets[0].forEach(function (_weight, at) {
      if (!sets.every(function (set) { return set.has(at); })) return;
      var section = index.sections[at];
      var page = index.pages[section[0]];
      var heading = section[2].toLowerCase();
      var own = split(heading);
      var score = 0;
      sets.forEach(function (set) { score += set.get(at); });
      words.forEach(function (word) {
        var single = word.endsWith('s') ? word.slice(0, -1) : word;
        if (own.some(function (one) { return one === word || one === single; })) score += 8 / Math.sqrt(own.length);
        else if (own.some(function (one) { return one.startsWith(single); })) score += 4 / Math.sqrt(own.length);
        if (split(section[4]).some(function (one) { return one === word || one === single; })) score += 10;
        if (split(page[1]).some(function (one) { return one.startsWith(single); })) score += 2;
      });
      // The section of an error code explains how to fix it, so it comes before the reference, which only names the
      // code.
      if (heading === whole) score += section[1] === whole ? 21 : 20;
      // Many sections contain the name of a field or parameter. The reference explains it, so it ranks higher.
      if (page[2] === 'Reference') score += 1;
      // Readers seldom look for sources first, so they rank lower.
      if (page[2] === 'Sources') score /= 2;
      hits.push({ at: at, score: score });
    });
    hits.sort(function (a, b) { return b.score - a.score || a.at - b.at; });
    return { near: near, hits: hits };
  }

  function element(name, text, className) {
    var made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function show() {
    var text = field.value.trim();
    panel.hidden = text.length < 2;
    if (panel.hidden || !index) return;
    var found = find(text);
    var shown = found.hits.slice(0, 20);
    said.textContent =
      (found.hits.length === 0 ? 'Nothing is found.' : found.hits.length === 1 ? 'One place' : found.hits.length + ' places') +
      (found.near && found.hits.length ? ', by words spelt nearly so' : '') +
      (found.hits.length > shown.length ? '; the best ' + shown.length + ' are shown' : '');
    list.replaceChildren.apply(list, shown.map(function (hit) {
      var section = index.sections[hit.at];
      var page = index.pages[section[0]];
      var link = document.createElement('a');
      link.href = root + page[0] + (section[1] ? '#' + section[1] : '');
      link.append(element('strong', section[2]), element('span', section[1] ? page[2] + ', ' + page[1] : page[2], 'where'), element('span', section[3], 'begins'));
      var item = document.createElement('li');
      item.append(link);
      return item;
    }));
  }

  function move(step) {
    var links = Array.prototype.slice.call(list.querySelectorAll('a'));
    var to = links.indexOf(document.activeElement) + step;
    if (to < 0) field.focus();
    else if (links[to]) links[to].focus();
  }

  field.addEventListener('focus', load);
  field.addEventListener('input', function () { load(); show(); });
  form.addEventListener('submit', function (event) {
    event.preventDefault();
    var first = list.querySelector('a');
    if (first && !panel.hidden) first.click();
  });
  document.addEventListener('keydown', function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    var inside = form.contains(document.activeElement) || panel.contains(document.activeElement);
    if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
      field.select();
    } else if (inside && event.key === 'Escape' && !panel.hidden) {
      // The first Escape closes the list of results. A second Escape empties the field, as browsers do.
      event.preventDefault();
      panel.hidden = true;
      field.focus();
    } else if (inside && !panel.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      move(event.key === 'ArrowDown' ? 1 : -1);
    }
  });
  // A link to a section of this page does not load a page, so the list must close here.
  list.addEventListener('click', function (event) {
    if (event.target.closest('a')) panel.hidden = true;
  });
  document.addEventListener('click', function (event) {
    if (!form.contains(event.target) && !panel.contains(event.target)) panel.hidden = true;
  });

  if (navigator.clipboard) {
    document.querySelectorAll('pre').forEach(function (block) {
      var button = element('button', 'Copy', 'copy');
      button.type = 'button';
      button.addEventListener('click', function () {
        navigator.clipboard.writeText(block.querySelector('code').textContent).then(
          function () { button.textContent = 'Copied'; },
          function () { button.textContent = 'Can’t copy'; },
        );
      });
      block.append(button);
    });
  }
})();
