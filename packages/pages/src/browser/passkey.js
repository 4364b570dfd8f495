/**
 * Runs the passkey ceremony of its page when the user presses the button, and sends the response with the page's form.
 * Options and texts come from the form's data attributes.
 */
{
  const form = document.querySelector('form[data-passkey]');
  const announcement = document.querySelector('.announcement');
  let isRunning = false;

  const say = text => {
    announcement.textContent = form.dataset[text] ?? '';
  };

  const isSupported = () =>
    typeof PublicKeyCredential === 'function' &&
    typeof PublicKeyCredential.parseCreationOptionsFromJSON === 'function' &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
    typeof PublicKeyCredential.prototype.toJSON === 'function';

  const askDevice = options =>
    form.dataset.passkey === 'register'
      ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });

  /**
   * NotAllowedError covers cancelling, timeouts and "no passkey here"; browsers do not reveal which (WebAuthn 14.5).
   */
  const textFor = error => {
    if (error?.name === 'NotAllowedError' || error?.name === 'AbortError') return 'cancelled';
    return error?.name === 'InvalidStateError' ? 'alreadyAdded' : 'failed';
  };

  if (form !== null) {
    form.addEventListener('submit', async event => {
      event.preventDefault();
      if (isRunning) return;
      isRunning = true;
      say('waiting');
      try {
        const credential = await askDevice(JSON.parse(form.dataset.options));
        form.elements.namedItem('response').value = JSON.stringify(credential.toJSON());
        say('sending');
        form.submit();
      } catch (error) {
        isRunning = false;
        say(textFor(error));
      }
    });

    // Allows another attempt when the browser restores the page from its cache.
    addEventListener('pageshow', () => {
      isRunning = false;
    });

    if (!isSupported()) {
      form.hidden = true;
      say('unsupported');
    }
  }
}
