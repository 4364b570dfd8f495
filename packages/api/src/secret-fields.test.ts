import { describe, expect, test } from 'vitest';
import { isSecretName, looksSecret, mentionsSecret } from './secret-fields.ts';

describe('a text that seems to ask for a secret', () => {
  test.each([
    'password',
    'userPassword',
    'API_KEY',
    'apiKey',
    'APIKey',
    'x-api-key',
    'github_token',
    'Personal access token',
    'client-secret',
    'Enter your one-time code',
    'PIN',
    'cvv',
    'cardNumber',
    'Contraseña',
    '请输入密码',
    'privateKey',
    'ｐａｓｓｗｏｒｄ',
    'pass\u200bword',
    'pass\u001b[0mword',
    'pa\u{E0041}ssword',
    'passwords',
    'Your API keys',
    'accessTokens',
    'PINs',
    'Kennwörter',
    'Sicherheitscode',
    'clave de acceso',
    'código de verificación',
    'codes de sécurité',
    'كلمة المرور',
    '暗証番号',
    '驗證碼',
    'cvv2',
  ])('is recognised: %s', text => {
    expect(mentionsSecret(text)).toBe(true);
  });

  test.each([
    'title',
    'tokenCount',
    'max_tokens',
    'secretary',
    'keyboard',
    'Shipping address',
    'pinned',
    'spinner',
    'accessibility',
    'tokens',
    'tank',
    'Zip code',
    'Llave y clave de sol',
  ])('is not suspected: %s', text => {
    expect(mentionsSecret(text)).toBe(false);
  });

  test('matters only for free text fields', () => {
    expect(looksSecret('token', { type: 'string' })).toBe(true);
    expect(looksSecret('value', { type: 'string', description: 'Your API key' })).toBe(true);
    expect(looksSecret('token', { type: 'boolean' })).toBe(false);
    expect(looksSecret('pin', { type: 'boolean' })).toBe(false);
    expect(looksSecret('token', { type: 'string', enum: ['a', 'b'] })).toBe(false);
  });

  test.each(['integer', 'number'] as const)('a secret of digits may be a %s', type => {
    for (const name of ['pin', 'otp', 'cardNumber', 'cvc'])
      expect([name, looksSecret(name, { type })]).toEqual([name, true]);
    for (const name of ['token', 'maxTokens', 'secrets'])
      expect([name, looksSecret(name, { type })]).toEqual([name, false]);
  });
});

describe('the name of a member', () => {
  test.each([
    'password',
    'clientSecret',
    'client_secret',
    'api_key',
    'apikey',
    'Authorization',
    'proxy-authorization',
    'Set-Cookie',
    'cookies',
    'privateKey',
    'passphrase',
    'credential',
    'dbConnectionString',
  ])('is that of a secret: %s', name => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each([
    'token_path',
    'pwd',
    'token_address',
    'secret_name',
    'credentialsPath',
    'session_id',
    'output_token_file',
    'mfa_device_to_delete',
    'pin_message',
    'account_number',
    'authorizationUrl',
    'authorized',
    'max_tokens',
    'tokenCount',
    'title',
  ])('is not that of a secret: %s', name => {
    expect(isSecretName(name)).toBe(false);
  });
});
