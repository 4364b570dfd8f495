import { describe, expect, test } from 'vitest';
import { hostileStrings } from './hostile-strings.ts';
import { contactUrl, html, joinHtml, ownPath, ownText, webUrl } from './html.ts';

/** Undoes exactly the references escaping makes. */
const unescapeHtml = (markup: string) => markup.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

describe('escaping', () => {
  test.each(hostileStrings)('text survives, markup does not: %j', hostile => {
    const inner = `${html`<p>${hostile}</p>`}`.replace('<p><bdi>', '').replace('</bdi></p>', '');
    expect(inner).not.toMatch(/[<>"'`]/);
    expect(inner.replace(/&#\d+;/g, '')).not.toContain('&');
    expect(unescapeHtml(inner)).toBe(hostile);
  });

  test.each(hostileStrings)('an attribute stays one attribute: %j', hostile => {
    const markup = `${html`<p title="${hostile}" class="a ${hostile}"></p>`}`;
    expect(markup.match(/"/g)).toHaveLength(4);
    expect(markup.match(/[<>]/g)).toHaveLength(4);
  });

  test.each(hostileStrings)('a title holds no markup: %j', hostile => {
    expect(`${html`<title>${hostile}</title>`}`.match(/[<>]/g)).toHaveLength(4);
  });
});

describe('values', () => {
  test('markup, lists of markup and nothing', () => {
    const items = ['a', 'b'].map(item => html`<li>${item}</li>`);
    expect(`${html`<ul>${items}${undefined}</ul>`}`).toBe('<ul><li><bdi>a</bdi></li><li><bdi>b</bdi></li></ul>');
    expect(`${joinHtml(items)}`).toBe('<li><bdi>a</bdi></li><li><bdi>b</bdi></li>');
    expect(`${html`<p>${ownText('a < b')}</p>`}`).toBe('<p>a &#60; b</p>');
  });

  test('text after a title is text again', () => {
    expect(`${html`<title>${'a'}</title><p>${'b'}</p>`}`).toBe('<title>a</title><p><bdi>b</bdi></p>');
  });

  test('an object that only looks like markup is refused', () => {
    const forged = { toString: () => '<b>', markup: '<b>' } as unknown as string;
    expect(() => html`<p>${forged}</p>`).toThrow(TypeError);
    expect(() => html`<p>${[forged] as unknown as string}</p>`).toThrow(TypeError);
    expect(() => html`<p title="${forged}"></p>`).toThrow(TypeError);
  });

  test('text made at run time does not pass for a template', () => {
    const forged = ['<b>', '</b>'] as unknown as TemplateStringsArray;
    expect(() => html(forged, 'x')).toThrow(TypeError);
    expect(() => html(Object.assign(['<b></b>'], { raw: ['<b></b>'] }))).toThrow(TypeError);
  });

  test('markup does not fit into an attribute or a title', () => {
    expect(() => html`<p title="${html`<b></b>`}"></p>`).toThrow(TypeError);
    expect(() => html`<title>${html`<b></b>`}</title>`).toThrow(TypeError);
  });

  test('a bare string does not fit where an address belongs', () => {
    expect(() => html`<a href="${'/path'}">x</a>`).toThrow(TypeError);
    expect(() => html`<img src="${'/path'}" alt="">`).toThrow(TypeError);
    expect(() => html`<form action="${'/path'}"></form>`).toThrow(TypeError);
    expect(`${html`<a href="${ownPath('/a?b=1&c=2')}">x</a>`}`).toBe('<a href="/a?b=1&#38;c=2">x</a>');
  });
});

describe('templates that escaping cannot make safe are refused', () => {
  test.each([
    ['unquoted attribute', () => html`<p title=${'x'}></p>`],
    ['single-quoted attribute', () => html`<p title='${'x'}'></p>`],
    ['tag name', () => html`<${'x'}>`],
    ['attribute name', () => html`<p ${'x'}="y"></p>`],
    ['style attribute', () => html`<p style="${'x'}"></p>`],
    ['static style attribute', () => html`<p style="color:red"></p>`],
    ['event handler', () => html`<p onclick="${'x'}"></p>`],
    ['srcset', () => html`<img srcset="${'x'}">`],
    ['comment', () => html`<!-- ${'x'} -->`],
    ['script', () => html`<script>${'x'}</script>`],
    ['style element', () => html`<style>${'x'}</style>`],
    ['part of an address', () => html`<a href="/e/${ownPath('/x')}">x</a>`],
    ['tag left open', () => html`<p class="a"`],
  ])('%s', (_name, render) => {
    expect(render).toThrow(TypeError);
  });
});

describe('addresses', () => {
  const leavesTheOrigin = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '',
    'e/1',
    ' /e',
    '/e\n',
    '/\t/evil.example',
  ];
  const notTheWeb = [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a.example/1',
  ];

  test.each([...leavesTheOrigin, ...notTheWeb, 'https://evil.example/'])('not a path of ours: %j', path => {
    expect(() => ownPath(path)).toThrow(TypeError);
  });

  test.each([
    ...leavesTheOrigin,
    ...notTheWeb,
    'mailto:a@example.org',
    'https://user:pass@example.org/',
    'https://github.com@evil.example/',
  ])('not a web address: %j', href => {
    expect(() => webUrl(href)).toThrow(TypeError);
  });

  test.each(notTheWeb)('not a contact: %j', href => {
    expect(() => contactUrl(href)).toThrow(TypeError);
  });

  test('accepted ones', () => {
    expect(`${ownPath('/')}`).toBe('/');
    expect(`${ownPath('/e/ab.c-d_e/accept?x=1#y')}`).toBe('/e/ab.c-d_e/accept?x=1#y');
    expect(`${webUrl('https://bücher.example/a b')}`).toBe('https://xn--bcher-kva.example/a%20b');
    expect(`${contactUrl('mailto:help@example.org')}`).toBe('mailto:help@example.org');
  });
});
