import { describe, expect, test } from 'vitest';
import { pageHeaders, passkeyPageHeaders } from '../page-headers.ts';
import { passkeyScript } from '../passkey-script.ts';
import { actionsWith, expectOrder } from '../testing/page-assertions.ts';
import { samplePasskeyView } from '../testing/sample-approval-views.ts';
import { sampleContext as en } from '../testing/sample-views.ts';
import { passkeyPage } from './passkey-page.ts';

describe('the passkey page', () => {
  test('is the only page that allows scripts, from our own origin and not inline', () => {
    const { 'content-security-policy': policy, ...others } = passkeyPageHeaders;
    const { 'content-security-policy': usual, ...usualOthers } = pageHeaders;
    expect(others).toEqual(usualOthers);
    expect(policy).toBe(`${usual}; script-src 'self'`);
    expect(usual).not.toContain('script-src');
  });

  test('loads only our script', () => {
    const markup = passkeyPage(en, samplePasskeyView);
    expect(markup.match(/<script[^>]*>[^<]*/g)).toEqual([`<script src="${passkeyScript.path}" defer>`]);
    for (const scriptPath of ['/assets/other.js', 'https://evil.example/x.js', `${passkeyScript.path}?x`, '']) {
      expect(() => passkeyPage(en, { ...samplePasskeyView, scriptPath })).toThrow(TypeError);
    }
  });

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

  test('the script is small, and its path contains a hash of its content', () => {
    expect(passkeyScript.path).toMatch(/^\/assets\/passkey-[A-Za-z0-9_-]{16}\.js$/);
    expect(passkeyScript.body.split('\n').length).toBeLessThan(80);
    expect(passkeyScript.body).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|import/,
    );
  });
});
