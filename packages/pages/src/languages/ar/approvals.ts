import type { Texts } from '../texts.ts';

export const approvals: Texts<'approvals'> = {
  'approval.signInAgain': 'تسجيل الدخول مجددًا للموافقة',
  'approval.signInAgainWhy': 'مضى وقت على تسجيل دخولك. يُرجى تسجيل الدخول مجددًا قبل الموافقة، لنتأكد من هويتك.',
  'approval.signInAgainConfirm': 'تسجيل الدخول مجددًا للتأكيد',
  'approval.signInAgainConfirmWhy': 'مضى وقت على تسجيل دخولك. يُرجى تسجيل الدخول مجددًا قبل التأكيد، لنتأكد من هويتك.',
  'approval.notice.sign_in_again':
    'لم تتم الموافقة على أي شيء، لأنك سجّلت الدخول منذ وقت طويل. سجّل الدخول مجددًا ثم قرّر.',
  'approval.notice.terms_changed': 'لم تتم الموافقة على أي شيء. يُرجى مراجعة التفاصيل مرة أخرى ثم اتخاذ القرار.',

  'payment.heading': 'يطلب منك {mcpServer} الموافقة على دفع {amount}',
  'payment.ask': 'يطلب منك {mcpServer} الموافقة على عملية دفع',
  'payment.payeeBefore': 'المستفيد',
  'payment.payeeNotVerified': 'حدّده {mcpServer}. لم يتحقق {brand} من هذا المستفيد.',
  'payment.approve': 'الموافقة على {amount}',
  'payment.payee': 'المدفوع له',
  'payment.amount': 'المبلغ',
  'payment.items': 'ما تدفع مقابله',
  'payment.item': 'البند',
  'payment.itemTotal': 'السعر',
  'payment.quantity': '{quantity} × {unit}',
  'payment.total': 'الإجمالي',
  'payment.reference': 'المرجع',
  'payment.testMode': 'وضع الاختبار: لن يُخصم أي مبلغ. لا تعتبر هذا عملية دفع.',
  'payment.accept': 'موافقة',
  'payment.acceptWithPasskey': 'الموافقة بمفتاح المرور',
  'payment.passkeyWhy':
    'الخطوة التالية هي مفتاح المرور: مفتاح محفوظ على جهازك تفتح قفله ببصمة الإصبع أو الوجه أو رقم التعريف الشخصي.',
  'payment.reassuranceProcessor': 'بعد موافقتك، تدفع على {processor}. لن يُخصم أي شيء قبل ذلك.',
  'payment.reassuranceDirect':
    'بعد موافقتك، يمكن لـ {mcpServer} تحصيل هذا المبلغ منك مرة واحدة. إذا رفضت، فلن يُخصم أي شيء.',
  'payment.notice.payment_not_finished': 'لم تكتمل عملية الدفع ولم يُخصم أي شيء. يمكنك إعادة المحاولة أو الرفض.',
  'payment.notice.processor_unavailable': 'لم يستجب {processor} ولم يُخصم أي شيء. انتظر لحظة ثم أعد المحاولة.',
  'payment.notice.processor_unavailableUnnamed': 'لم تستجب خدمة الدفع ولم يُخصم أي شيء. انتظر لحظة ثم أعد المحاولة.',
  'payment.notice.passkey_failed':
    'تعذّر التحقق من مفتاح المرور. لم تتم الموافقة على أي شيء. يمكنك إعادة المحاولة أو الرفض.',

  'passkey.headingAssert': 'الموافقة على {amount} بمفتاح المرور',
  'passkey.headingRegister': 'إضافة مفتاح مرور للموافقة على {amount}',
  'passkey.textAssert':
    'سيطلب جهازك بصمة إصبعك أو وجهك أو رقم التعريف الشخصي لفتح قفل مفتاح المرور المحفوظ عليه لـ {brand}.',
  'passkey.textRegister':
    'تتطلّب عملية الدفع هذه مفتاح مرور: مفتاح محفوظ على جهازك تفتح قفله ببصمة الإصبع أو الوجه أو رقم التعريف الشخصي.',
  'passkey.textRegisterNext': 'تضيفه مرة واحدة، ثم توافق به على عملية الدفع.',
  'passkey.start': 'استخدام مفتاح المرور',
  'passkey.add': 'إضافة مفتاح مرور',
  'passkey.back': 'رجوع',
  'passkey.reassuranceAssert': 'استخدام مفتاح المرور يعني الموافقة على عملية الدفع هذه.',
  'passkey.reassuranceRegister': 'إضافة مفتاح مرور لا تعني الموافقة على أي شيء بعد.',
  'passkey.noScript':
    'تتطلّب هذه الخطوة {technology}، فبدونه لا يمكن للمتصفح استخدام مفتاح المرور. فعّله وأعد تحميل هذه الصفحة، أو ارجع، أو ارفض.',
  'passkey.waiting': 'اتبع الخطوات التي يعرضها جهازك.',
  'passkey.sending': 'تم. لحظة من فضلك.',
  'passkey.cancelled': 'لم يُستخدم مفتاح المرور. يمكنك إعادة المحاولة أو الرفض.',
  'passkey.alreadyAdded': 'يوجد على هذا الجهاز مفتاح مرور خاص بك. ارجع ووافق باستخدامه، أو اختر جهازًا آخر.',
  'passkey.failed': 'لم تنجح العملية. يمكنك إعادة المحاولة أو الرجوع أو الرفض.',
  'passkey.unsupported':
    'لا يمكن لهذا المتصفح استخدام مفاتيح المرور في هذه الصفحة. افتح الرابط من تطبيقك في متصفح آخر أو ارفض.',
  'passkey.notice.failed': 'تعذّر التحقق من مفتاح المرور. لم تتم الموافقة على أي شيء. يمكنك إعادة المحاولة أو الرفض.',
  'passkey.notice.not_added': 'تعذّرت إضافة مفتاح المرور. لم تتم الموافقة على أي شيء. يمكنك إعادة المحاولة أو الرفض.',

  'passkeySignIn.heading': 'سجّل الدخول مجددًا لإضافة مفتاح مرور',
  'passkeySignIn.text':
    'تتطلّب عملية الدفع هذه مفتاح مرور، وليس لديك مفتاح بعد. كي لا يضيف شخص آخر مفتاحًا باسمك، سجّل الدخول مجددًا أولًا.',

  'passkeyWait.heading': 'مفتاح المرور أحدث من أن يُستخدم لهذه العملية',
  'passkeyWait.from': 'أضفت مفتاح المرور منذ وقت قصير. يمكنك الموافقة به على مدفوعات بهذا الحجم ابتداءً من {time}.',
  'passkeyWait.why':
    'يمنحك ذلك وقتًا لملاحظة مفتاح مرور أضافه شخص آخر أو إعادة تعيين لم تطلبها. إذا حدث ذلك، فأبلغ مشغّل {brand}.',

  'dailyLimit.heading': 'بلغت الحد الأقصى خلال 24 ساعة',
  'dailyLimit.why':
    'يحدّد مشغّل {brand} المبلغ الذي يمكنك الموافقة عليه لـ {mcpServer} خلال 24 ساعة. عملية الدفع هذه تتجاوز الحد. لم تتم الموافقة على أي شيء.',
  'dailyLimit.from': 'يمكنك الموافقة عليها ابتداءً من {time}، إذا كان الرابط لا يزال صالحًا حينها.',

  'charge.heading': 'تمت الموافقة. ادفع الآن {amount} على {processor}',
  'charge.ask': 'تمت الموافقة. ادفع الآن على {processor}',
  'charge.headingProcessing': 'يعالج {processor} عملية الدفع',
  'charge.text': 'يستلم {processor} المبلغ لصالح {payee}. ستعود بعد ذلك إلى هنا.',
  'charge.textProcessing': 'قد يستغرق ذلك بضع دقائق. لا حاجة إلى الدفع مرة أخرى.',
  'charge.stop': 'عدم الدفع',
  'charge.continue': 'المتابعة إلى {processor}',
  'charge.tryAgain': 'إعادة المحاولة',
  'charge.check': 'دفعت: تحقّق مرة أخرى',
  'charge.checkProcessing': 'التحقق مرة أخرى',
  'charge.reassurance': 'تدفع مرة واحدة فقط، مهما تكرّر فتحك لهذه الصفحة.',
  'charge.notice.processor_unavailable': 'لم يستجب {processor} الآن. انتظر لحظة ثم أعد المحاولة.',
  'charge.notice.not_paid_yet': 'لم يستلم {processor} المبلغ بعد.',

  'receipt.headingPaid': 'دفعت {amount}',
  'receipt.headingApproved': 'وافقت على دفع {amount}',
  'receipt.record': 'هذا سجل موافقتك.',
  'receipt.recordPaid': 'هذا سجل موافقتك ودفعك.',
  'receipt.heading': 'الإيصال',
  'receipt.number': 'رقم الإيصال',
  'receipt.approvedAt': 'تاريخ الموافقة',
  'receipt.how': 'طريقة الموافقة',
  'receipt.method': { select: 'method', button: 'الزر في هذا الموقع', passkey: 'مفتاح مرور' },
  'receipt.by': 'الموافِق',
  'receipt.askedBy': 'مقدّم الطلب',
  'receipt.status': 'الدفع',
  'receipt.paid': 'مدفوع',
  'receipt.paidAt': 'مدفوع على {processor}',
  'receipt.collect': 'يمكن لـ {mcpServer} الآن تحصيله منك مرة واحدة',
  'receipt.open': 'إيصال للطباعة أو الحفظ',
  'receipt.signed': 'وقّعت {brand} هذا الملف رقميًا. يمكن لأي شخص التحقق من أنه أصلي ولم يتغيّر.',
  'receipt.download': 'تنزيل الملف الموقّع',

  'confirmation.heading': 'يطلب منك {mcpServer} تأكيد إجراء',
  'confirmation.headingCaution': 'يطلب منك {mcpServer} تأكيد إجراء يتطلّب الحذر',
  'confirmation.headingDestructive': 'يطلب منك {mcpServer} تأكيد إجراء لا يمكن التراجع عنه',
  'confirmation.acceptDestructive': 'تأكيد نهائي',
  'confirmation.label': 'ما تؤكّده',
  'confirmation.stated': 'حسب {mcpServer}.',
  'confirmation.accept': 'تأكيد',
  'confirmation.reassurance': 'لن ينفّذ {mcpServer} هذا الإجراء إلا إذا أكّدته.',
  'confirmation.notice.sign_in_again': 'لم يتم تأكيد أي شيء، لأنك سجّلت الدخول منذ وقت طويل. سجّل الدخول مجددًا ثم قرّر.',
  'confirmation.notice.terms_changed': 'لم يتم تأكيد أي شيء. يُرجى مراجعة التفاصيل مرة أخرى ثم اتخاذ القرار.',

  'confirmed.heading': 'تم التأكيد',
  'confirmed.label': 'ما أكّدته',
  'confirmed.at': 'تاريخ التأكيد',
};
