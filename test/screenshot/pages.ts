/**
 * `pnpm pages-screenshot`: writes docs/pages-light.png and docs/pages-dark.png: three sample pages on phones, beside each other. The pages
 * are real; only the frames around them are drawn here.
 */
import { join } from 'node:path';
import { stylesheet } from '@postern/pages';
import { createPreview } from '@postern/pages/samples';
import { sharedBrowser } from '@postern/testkit/chromium';

const docs = join(import.meta.dirname, '../../docs');
const phone = { width: 390, height: 844 };
const shown = ['connect', 'payment', 'confirmation'];
const backs = { light: '#eceff3', dark: '#0d1117' } as const;
const origin = 'https://pictures.example';

const branding = { name: 'Northwind' };
const sheet = stylesheet(branding);
const preview = createPreview(
  [
    {
      id: 'general',
      name: branding.name,
      brandingIn: () => branding,
      stylesheetPath: sheet.path,
      isOfMcpServer: false,
    },
  ],
  new Map([[sheet.path, { type: 'text/css; charset=utf-8', body: sheet.body }]]),
);

const composition = (images: readonly string[], back: string) => `<!doctype html><meta charset="utf-8"><style>
  body { margin: 0; padding: 24px; width: max-content; display: flex; gap: 24px; background: ${back} }
  img { display: block; width: ${phone.width * 0.7}px; border-radius: 20px; box-shadow: 0 6px 24px rgb(0 0 0 / .3) }
</style>${images.map(image => `<img src="data:image/png;base64,${image}">`).join('')}`;

const browser = await sharedBrowser();
for (const theme of ['light', 'dark'] as const) {
  const context = await browser.newContext({ viewport: phone, deviceScaleFactor: 1.4 });
  await context.route(`${origin}/**`, route => {
    const file = preview.read(new URL(route.request().url()).pathname);
    return file === undefined ? route.abort() : route.fulfill({ contentType: file.type, body: file.body });
  });
  const page = await context.newPage();
  const images: string[] = [];
  for (const name of shown) {
    await page.goto(`${origin}/general/${theme}/en/${name}.html`);
    images.push((await page.screenshot()).toString('base64'));
  }
  await context.close();
  const frame = await browser.newPage({ viewport: { width: 900, height: 640 } });
  await frame.setContent(composition(images, backs[theme]));
  await frame.locator('body').screenshot({ path: join(docs, `pages-${theme}.png`) });
  await frame.close();
}
await browser.close();
