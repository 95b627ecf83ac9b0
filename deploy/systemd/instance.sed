# instance.sed - makes the template tombola-PARTY@.service of tombola-PARTY.service: a population of its own, in
# /etc/tombola/INSTANCE and /var/lib/tombola-PARTY/INSTANCE.
1s|^# tombola-\([a-z]*\)\.service - \(.*\)tombola-[a-z]*`|# tombola-\1@.service - one population of several on this host; \2tombola-\1@INSTANCE`|
s|^Description=Tombola \([a-z]*\):|Description=Tombola \1 of %i:|
s|^StateDirectory=.*|&/%i|
s|^EnvironmentFile=-/etc/default/tombola-\([a-z]*\)$|Environment=TOMBOLA_CONFIG=/etc/tombola/%i/\1.conf\
EnvironmentFile=-/etc/default/tombola-\1-%i|
