(() => {
  'use strict';
  const button = document.getElementById('copy'), token = document.getElementById('token');
  if (!button || !token || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(token.value);
    button.textContent = 'Copied';
  });
})();
