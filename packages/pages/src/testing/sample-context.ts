import type { Branding, PageContext } from '../views.ts';

export const sampleBranding: Branding = { name: 'Northwind', supportUrl: 'https://help.northwind.example/' };

export const sampleContext: PageContext = {
  locale: 'en',
  branding: { ...sampleBranding, logo: { path: '/assets/brand.svg', width: 48, height: 48 } },
  stylesheetPath: '/assets/postern-x.css',
};
