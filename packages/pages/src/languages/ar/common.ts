import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': 'المساعدة',
  'layout.privacy': 'الخصوصية',
  'layout.terms': 'شروط الاستخدام',
  'layout.language': 'اللغة:',
  'layout.passkeysChanged':
    'تغيّرت مفاتيح المرور الخاصة بك في {time}: أُضيف مفتاح أو أُزيل. إذا لم تكن أنت من فعل ذلك، فأبلغ {brand} فورًا.',
  'layout.seePasskeys': 'عرض مفاتيح المرور',

  'link.open': 'فتح {host}',
  'link.newTab': '(في علامة تبويب جديدة)',

  'asker.label': 'مقدّم الطلب',

  'facts.destination': 'ستتابع على',
  'facts.person': 'تم تسجيل الدخول باسم',
  'facts.personHost': 'عبر {host}',

  'head.claimBoth': 'يفيد بأن الطلب بدأ في «{mcpClient}» من أجل «{tool}»',
  'head.claimClient': 'يفيد بأن الطلب بدأ في «{mcpClient}»',
  'head.claimTool': 'يفيد بأن الطلب من أجل «{tool}»',
  'head.step': 'الخطوة {step} من {steps}',

  'match.text': 'إذا عرض تطبيقك رمزًا، فيجب أن يكون هذا الرمز.',
  'match.other': 'رمز آخر؟ ارفض الطلب.',

  'words.of': 'كلمات {mcpServer}، وليست كلمات {brand}',

  'person.switch': 'تبديل',
  'person.switchWhat': 'الحساب',

  'decision.label': 'قرارك',
  'decision.decline': 'رفض',
  'decision.endsSoon': 'تنتهي صلاحية هذا الطلب {relative}، عند {time}.',
  'decision.ends': 'تنتهي صلاحية هذا الطلب في {time}.',

  'next.close': 'أغلق علامة التبويب هذه وعُد إلى التطبيق الذي أتيت منه.',
  'next.closeNamed': 'أغلق علامة التبويب هذه وعُد إلى التطبيق الذي أتيت منه (يسمّي نفسه «{mcpClient}»).',
  'next.returning': 'ستعود إلى {host} خلال ثلاث ثوانٍ.',
  'next.stay': 'البقاء هنا',
  'next.return': 'العودة إلى {mcpServer}',

  'fault.operator': 'لن تنجح هذه الخطوة قبل أن يُجري مشغّل {brand} تعديلًا. زوّده بهذا الرقم: {reference}',

  'live.show': 'إظهار',
  'live.hide': 'إخفاء',
  'live.copy': 'نسخ',
  'live.copied': 'تم النسخ',
  'live.ended': 'انتهى هذا الطلب.',
  'live.see': 'عرض النتيجة',
  'live.timeUp': 'انتهى الوقت.',
};
