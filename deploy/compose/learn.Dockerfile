# The profile `learn`: trainings with daemons of their own in one container, on the demo's image (build that first).
FROM tombola:demo
USER root
COPY deploy/demo/fetch-data.sh deploy/demo/rda2csv.py /usr/share/tombola/learn/
RUN apt-get update && apt-get install -y --no-install-recommends python3-numpy libopenblas0-pthread dataset-fashion-mnist \
	&& for d in shuttle digits; do /usr/share/tombola/learn/fetch-data.sh $d /usr/share/tombola/learn/$d.csv; done \
	&& rm -rf /var/lib/apt/lists/* && install -d -o 10001 -g 10001 -m 0700 /var/lib/tombola-learn
COPY deploy/learn/tombola_learn /usr/lib/python3/dist-packages/tombola_learn
USER 10001:10001
