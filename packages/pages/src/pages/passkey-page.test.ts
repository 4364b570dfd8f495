import { describe, expect, test } from 'vitest';
import { samplePasskeyView } from '../samples/sample-approval-views.ts';
import { actionsWith, expectOrder } from '../testing/page-assertions.ts';
import { sampleContext as en } from '../testing/sample-context.ts';
import { passkeyPage } from './passkey-page.ts';

describe('the passkey page', () => {
  test('has form fields for the token, digest, ceremony and response', () => {
    const markup = passkeyPage(en, samplePasskeyView);
    const [, form = ''] = /(<form class="needs-script".*?<\/form>)/.exec(markup) ?? [];
    const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
    expect(Object.fromEntries(inputs.map(([, name, value]) => [name, value]))).toEqual({
      csrf_token: 'csrf-value',
      shown: 'shown-value',
      ceremony: 'ceremony-value',
      response: '',
    });
    expect(actionsWith(markup, 'name="ceremony"')).toEqual(['/e/0a.sample/passkey']);
  });

  test('passes the options to the script unchanged', () => {
    const optionsJson = JSON.stringify({ user: { displayName: '"><script>&amp;\u2028 </form>' } });
    const [, escaped = ''] =
      / data-options="([^"]*)"/.exec(passkeyPage(en, { ...samplePasskeyView, optionsJson })) ?? [];
    expect(escaped.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))).toBe(optionsJson);
  });

  test('says that JavaScript is missing, and always offers to decline or go back', () => {
    const markup = passkeyPage(en, samplePasskeyView);
    expect(markup).toMatch(/<noscript>.*JavaScript.*<\/noscript>/);
    expectOrder(markup, ['<noscript>', 'role="status"', 'action="/e/0a.sample/decline"', 'href="/e/0a.sample"']);
  });

  test('says which of two steps it is, unless it is a further attempt', () => {
    const isStep = (view: object) => passkeyPage(en, { ...samplePasskeyView, ...view }).includes('class="step"');
    expect(isStep({ mode: 'register' })).toBe(true);
    expect(isStep({ mode: 'assert' })).toBe(true);
    expect(isStep({ mode: 'assert', notice: 'failed' })).toBe(false);
  });
});
