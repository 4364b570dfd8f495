import {
  type Brand,
  brandedPage,
  type Configuration,
  type KoaContextWithOIDC,
  pageHeaders,
} from '@postern/openid-server';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** The pages of the device flow. Selectors: `input[name=user_code]`, `#user-code`, `#allow`, `#deny`, `#connected`, `#error`. */
export function devicePages(
  brand: Brand,
): Pick<DeviceFlow, 'userCodeInputSource' | 'userCodeConfirmSource' | 'successSource'> {
  const show = (context: KoaContextWithOIDC, title: string, ...parts: string[]) => {
    context.set(pageHeaders(brand));
    context.body = brandedPage(brand, title, parts.join('\n'));
  };
  return {
    userCodeInputSource(context, form, _out, error) {
      show(
        context,
        'Connect a device',
        ...(error ? [`<p id="error" role="alert">${error.name}</p>`] : []),
        form,
        '<p><button id="continue" form="op.deviceInputForm">Continue</button></p>',
      );
    },
    userCodeConfirmSource(context, form, _oauthClient, _deviceInfo, userCode) {
      show(
        context,
        'Is this your device?',
        `<p><code id="user-code">${userCode}</code></p>`,
        form,
        '<p><button id="deny" form="op.deviceConfirmForm" name="abort" value="yes">Cancel</button>',
        '<button id="allow" form="op.deviceConfirmForm">Continue</button></p>',
      );
    },
    successSource(context) {
      show(context, 'Connected', '<p id="connected">You may close this page</p>');
    },
  };
}
