import type { Configuration } from 'oidc-provider';
import { devicePage } from './provider-pages.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** The pages of the device flow. Selectors: `input[name=user_code]`, `#user-code`, `#allow`, `#deny`, `#connected`, `#error`. */
export const devicePages: Pick<DeviceFlow, 'userCodeInputSource' | 'userCodeConfirmSource' | 'successSource'> = {
  userCodeInputSource(context, form, _out, error) {
    context.type = 'html';
    context.body = devicePage('Connect a device', [
      ...(error ? [`<p id="error" role="alert">${error.name}</p>`] : []),
      form,
      '<p><button id="continue" form="op.deviceInputForm">Continue</button></p>',
    ]);
  },
  userCodeConfirmSource(context, form, _oauthClient, _deviceInfo, userCode) {
    context.type = 'html';
    context.body = devicePage('Is this your device?', [
      `<p><code id="user-code">${userCode}</code></p>`,
      form,
      '<p><button id="deny" form="op.deviceConfirmForm" name="abort" value="yes">Cancel</button>',
      '<button id="allow" form="op.deviceConfirmForm">Continue</button></p>',
    ]);
  },
  successSource(context) {
    context.type = 'html';
    context.body = devicePage('Connected', ['<p id="connected">You may close this page</p>']);
  },
};
