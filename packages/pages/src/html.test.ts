import { describe, expect, test } from 'vitest';
import { attributes, contactUrl, html, joinHtml, onPage, ownPath, ownText, webUrl } from './html.ts';
import { hostileStrings } from './testing/hostile-strings.ts';

/** Decodes exactly the references that escaping creates. */
const unescapeHtml = (markup: string) => markup.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

describe('escaping', () => {
  test.each(hostileStrings)('text survives, markup does not: %j', hostile => {
    const inner = `${html`<p>${hostile}</p>`}`.replace('<p><bdi>', '').replace('</bdi></p>', '');
    expect(inner).not.toMatch(/[<>"'`]/);
    expect(inner.replace(/&#\d+;/g, '')).not.toContain('&');
    expect(unescapeHtml(inner)).toBe(hostile);
  });

  test.each(hostileStrings)('a value cannot leave its attribute: %j', hostile => {
    const markup = `${html`<p title="${hostile}" class="a ${hostile}"></p>`}`;
    expect(markup.match(/"/g)).toHaveLength(4);
    expect(markup.match(/[<>]/g)).toHaveLength(4);
  });

  test.each(hostileStrings)('a title contains no markup: %j', hostile => {
    expect(`${html`<title>${hostile}</title>`}`.match(/[<>]/g)).toHaveLength(4);
  });
});

describe('values', () => {
  test('renders markup, lists of markup and undefined', () => {
    const items = ['a', 'b'].map(item => html`<li>${item}</li>`);
    expect(`${html`<ul>${items}${undefined}</ul>`}`).toBe('<ul><li><bdi>a</bdi></li><li><bdi>b</bdi></li></ul>');
    expect(`${joinHtml(items)}`).toBe('<li><bdi>a</bdi></li><li><bdi>b</bdi></li>');
    expect(`${html`<p>${ownText('a < b')}</p>`}`).toBe('<p>a &#60; b</p>');
  });

  test('an option contains text only', () => {
    expect(`${html`<option>${'a < b'}</option>`}`).toBe('<option>a &#60; b</option>');
    expect(() => html`<option>${html`<b></b>`}</option>`).toThrow(TypeError);
  });

  test('text after a title is isolated again', () => {
    expect(`${html`<title>${'a'}</title><p>${'b'}</p>`}`).toBe('<title>a</title><p><bdi>b</bdi></p>');
  });

  test('an object that only looks like markup is refused', () => {
    const forged = { toString: () => '<b>', markup: '<b>' } as unknown as string;
    expect(() => html`<p>${forged}</p>`).toThrow(TypeError);
    expect(() => html`<p>${[forged] as unknown as string}</p>`).toThrow(TypeError);
    expect(() => html`<p title="${forged}"></p>`).toThrow(TypeError);
  });

  test('a string created at run time is refused as a template', () => {
    const forged = ['<b>', '</b>'] as unknown as TemplateStringsArray;
    expect(() => html(forged, 'x')).toThrow(TypeError);
    expect(() => html(Object.assign(['<b></b>'], { raw: ['<b></b>'] }))).toThrow(TypeError);
  });

  test('markup is refused in an attribute or a title', () => {
    expect(() => html`<p title="${html`<b></b>`}"></p>`).toThrow(TypeError);
    expect(() => html`<title>${html`<b></b>`}</title>`).toThrow(TypeError);
  });

  test('a bare string is refused as an address', () => {
    expect(() => html`<a href="${'/path'}">x</a>`).toThrow(TypeError);
    expect(() => html`<img src="${'/path'}" alt="">`).toThrow(TypeError);
    expect(() => html`<form action="${'/path'}"></form>`).toThrow(TypeError);
    expect(`${html`<a href="${ownPath('/a?b=1&c=2')}">x</a>`}`).toBe('<a href="/a?b=1&#38;c=2">x</a>');
  });
});

describe('attributes that depend on data', () => {
  test('are rendered with a value, without one, or not at all', () => {
    const chosen = attributes({ id: 'a', rows: 3, required: true, checked: false, title: undefined, value: '' });
    expect(`${html`<p${chosen}></p>`}`).toBe('<p id="a" rows="3" required value=""></p>');
    expect(`${html`<p class="b"${attributes({})}>${'x'}</p>`}`).toBe('<p class="b"><bdi>x</bdi></p>');
  });

  test.each(hostileStrings)('hold no markup: %j', hostile => {
    const markup = `${html`<p${attributes({ title: hostile })}></p>`}`;
    expect(markup.match(/[<>"]/g)).toHaveLength(6);
    expect(unescapeHtml(markup)).toBe(`<p title="${hostile}"></p>`);
  });

  test.each([
    'onclick',
    'style',
    'srcdoc',
    'formaction',
    'href',
    'src',
    'action',
    'a b',
    'A',
    'x"',
    'a=',
    '',
    '__proto__',
  ])('the name %j is refused', name => {
    expect(() => attributes({ [name]: 'x' })).toThrow(TypeError);
    expect(() => attributes({ [name]: undefined })).toThrow(TypeError);
  });
});

describe('templates that escaping cannot make safe are refused', () => {
  test.each([
    ['unquoted attribute', () => html`<p title=${'x'}></p>`],
    ['single-quoted attribute', () => html`<p title='${'x'}'></p>`],
    ['tag name', () => html`<${'x'}>`],
    ['attribute name', () => html`<p ${'x'}="y"></p>`],
    ['attributes before others', () => html`<p${attributes({})} class="a"></p>`],
    ['attributes as part of a name', () => html`<p ${attributes({})}b></p>`],
    ['attributes behind a space', () => html`<p ${attributes({})}></p>`],
    ['attributes of a closing tag', () => html`<p></p${attributes({})}>`],
    ['text in place of attributes', () => html`<p${'title'}></p>`],
    ['attributes as text', () => html`<p>${attributes({ id: 'a' })}</p>`],
    ['style attribute', () => html`<p style="${'x'}"></p>`],
    ['static style attribute', () => html`<p style="color:red"></p>`],
    ['event handler', () => html`<p onclick="${'x'}"></p>`],
    ['text as srcset', () => html`<img srcset="${'x'}">`],
    ['a second image in srcset', () => html`<img srcset="${ownPath('/x')} 1x, ${ownPath('/y')} 2x">`],
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

  test.each(['', '#a', 'a b', '1', 'a"', 'a/b', 'a:b', ...notTheWeb])('not an element id: %j', id => {
    expect(() => onPage(id)).toThrow(TypeError);
  });

  test('accepted ones', () => {
    expect(`${onPage('field-a.b_c-1')}`).toBe('#field-a.b_c-1');
    expect(`${ownPath('/')}`).toBe('/');
    expect(`${ownPath('/e/ab.c-d_e/accept?x=1#y')}`).toBe('/e/ab.c-d_e/accept?x=1#y');
    expect(`${webUrl('https://bücher.example/a b')}`).toBe('https://xn--bcher-kva.example/a%20b');
    expect(`${contactUrl('mailto:help@example.org')}`).toBe('mailto:help@example.org');
  });
});
