(() => {
  'use strict';
  const form = document.getElementById('search');
  if (!form) return;
  let timer, latest = 0;
  const show = async () => {
    const mine = ++latest;
    const address = '?' + new URLSearchParams(new FormData(form));
    try {
      const answer = await fetch(address, { headers: { Accept: 'text/html' } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (mine !== latest) return;
      for (const id of ['count', 'tags', 'found']) {
        document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
      }
      history.replaceState(null, '', address);
    } catch { /* the button still works */ }
  };
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(show, 250);
  });
})();
